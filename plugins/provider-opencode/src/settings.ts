/** What an agent of OpenCode is configured with: options, read and checked without touching anything. */
import type { ProviderSettings } from 'substrat/provider'
import { failure } from '../../shared/src/failure.js'

export const OPTIONS = {
  command: 'the shell words that run OpenCode (opencode)',
  agent: 'the agent of OpenCode: build, plan, or one of your own',
  permission:
    'ask: it asks before it changes files, runs commands and fetches pages; else as it is configured',
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
    throw failure('misconfigured', 'command is empty; it is opencode where none is given')
  if (permission !== undefined && permission !== 'ask') {
    throw failure('misconfigured', `permission is ask or not given: ${JSON.stringify(permission)}`)
  }
  return { command, agent, model: modelOf(model), asksAlways: permission === 'ask' }
}

function modelOf(model: string | null): Settings['model'] {
  if (model === null || model.trim() === '') return undefined
  const [, providerID, modelID] = /^([^/]+)\/(.+)$/.exec(model.trim()) ?? []
  if (providerID === undefined || modelID === undefined) {
    throw failure(
      'misconfigured',
      `a model of OpenCode is PROVIDER/MODEL, as \`opencode models\` lists them: ${model}`,
    )
  }
  return { providerID, modelID }
}
