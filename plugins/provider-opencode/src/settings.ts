/** Reads and checks the options without side effects. */
import type { ProviderSettings } from 'substrat/provider'
import { failure } from '../../shared/src/failure.js'

export const OPTIONS = {
  command: 'shell command that runs OpenCode (opencode)',
  agent: "OpenCode's agent: build, plan or one of your own",
  permission:
    "ask: a new session asks before it edits, runs commands, fetches or searches (default: OpenCode's configuration)",
} satisfies Record<string, string>

export interface Settings {
  command: string
  agent: string | undefined
  model: { providerID: string; modelID: string } | undefined
  asksAlways: boolean
}

export function readSettings({ model, options }: ProviderSettings): Settings {
  const { command = 'opencode', agent, permission } = options
  if (command.trim() === '')
    throw failure('misconfigured', 'the option command is empty; omit it, or name the program')
  if (permission !== undefined && permission !== 'ask') {
    throw failure(
      'misconfigured',
      `the option permission must be ask or omitted, not ${JSON.stringify(permission)}`,
    )
  }
  return { command, agent, model: modelOf(model), asksAlways: permission === 'ask' }
}

function modelOf(model: string | null): Settings['model'] {
  if (model === null || model.trim() === '') return undefined
  const [, providerID, modelID] = /^([^/]+)\/(.+)$/.exec(model.trim()) ?? []
  if (providerID === undefined || modelID === undefined) {
    throw failure(
      'misconfigured',
      `a model of OpenCode has the form PROVIDER/MODEL, not ${model}; list them: opencode models`,
    )
  }
  return { providerID, modelID }
}
