/** What an agent is configured with: options, read and checked without touching anything. */
import type { ProviderSettings } from 'substrat/provider'
import { failure } from '../../shared/src/failure.js'

export const OPTIONS = {
  command: 'the shell command that runs the agent, speaking ACP over its stdin and stdout: opencode acp',
  mode: 'the session mode, one of those that the agent offers: plan',
  start_timeout: 'give up when the agent has not opened the session after this long (2m)',
} satisfies Record<string, string>

export interface Settings {
  command: string
  mode: string | undefined
  startTimeoutMs: number
}

const START_TIMEOUT_MS = 2 * 60_000
const DURATION = /^(\d+(?:\.\d+)?)(ms|s|m|h)$/
const UNIT_MS: Record<string, number> = { ms: 1, s: 1000, m: 60_000, h: 3_600_000 }
// What a timer of Node can take.
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
  throw failure('misconfigured', `start_timeout is no duration such as 30s or 5m: ${JSON.stringify(text)}`)
}
