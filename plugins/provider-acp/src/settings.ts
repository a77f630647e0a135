/** Reads and checks the options of an agent without side effects. */
import type { ProviderSettings } from 'substrat/provider'
import { failure } from '../../shared/src/failure.js'

export const OPTIONS = {
  command: 'shell command that runs the agent with ACP on stdin and stdout, such as opencode acp',
  mode: 'session mode, one of those that the agent offers, such as plan',
  start_timeout: 'fail if the agent has not opened its session after this time (2m)',
} satisfies Record<string, string>

export interface Settings {
  command: string
  mode: string | undefined
  startTimeoutMs: number
}

const START_TIMEOUT_MS = 2 * 60_000
const DURATION = /^(\d+(?:\.\d+)?)(ms|s|m|h)$/
const UNIT_MS: Record<string, number> = { ms: 1, s: 1000, m: 60_000, h: 3_600_000 }
// The longest delay of a Node timer.
const MS_MAX = 2 ** 31 - 1

export function readSettings({ options }: ProviderSettings): Settings {
  const command = options.command?.trim() ?? ''
  if (command === '') {
    throw failure('misconfigured', "the acp provider needs a command: --option command='opencode acp'")
  }
  return { command, mode: options.mode, startTimeoutMs: startTimeoutMs(options.start_timeout) }
}

function startTimeoutMs(text: string | undefined): number {
  if (text === undefined) return START_TIMEOUT_MS
  const [, count, unit] = DURATION.exec(text.trim()) ?? []
  const ms = Number(count) * (UNIT_MS[unit ?? ''] ?? Number.NaN)
  if (ms >= 1 && ms <= MS_MAX) return Math.round(ms)
  throw failure(
    'misconfigured',
    `the option start_timeout must be a duration such as 30s or 5m, not ${JSON.stringify(text)}`,
  )
}
