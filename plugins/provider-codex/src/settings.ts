/** What the options say, or why that cannot work. */
import type { ProviderSettings } from 'substrat/provider'
import { failure } from '../../shared/src/failure.js'
import { wordsOf } from '../../shared/src/program/words.js'

const SANDBOXES = ['read-only', 'workspace-write', 'danger-full-access'] as const
export type Sandbox = (typeof SANDBOXES)[number]

export interface Settings {
  /** The program, with arguments where it needs some to be codex: `npx codex`. */
  command: [string, ...string[]]
  /** Undefined where what is allowed decides. */
  sandbox: Sandbox | undefined
  args: string[]
  /** Values for `-c`. */
  config: string[]
  offlineTimeoutMs: number
}

export const OPTIONS = {
  command: 'the program, where it is not `codex` of the PATH',
  sandbox: 'read-only, workspace-write or danger-full-access (else what --allow says: see the README)',
  args: 'more arguments for codex exec, in words as a shell takes them',
  config: "values of codex's config.toml for this agent: key=value, several with ; between them",
  offline_timeout: 'give up when codex has had no connection for this long (5m)',
} satisfies Record<string, string>

const OFFLINE_TIMEOUT_MS = 5 * 60_000
const UNIT_MS: Record<string, number> = { s: 1000, m: 60_000, h: 3_600_000 }
// What a timer of Node can take.
const MS_MAX = 2 ** 31 - 1
/** Arguments that are ours, or without which a session cannot be gone on with. */
const NOT_TAKEN = [
  '--json',
  '--ephemeral',
  '--worktree',
  '-C',
  '--cd',
  '-o',
  '--output-last-message',
  'resume',
  '-',
]

export function readSettings({ options }: ProviderSettings): Settings {
  const [program, ...more] = wordsOf('command', options.command ?? 'codex')
  if (program === undefined) throw failure('misconfigured', 'the option command names no program')
  const args = wordsOf('args', options.args ?? '')
  const refused = args.find((word) => NOT_TAKEN.includes(word.replace(/=.*/s, '')))
  if (refused !== undefined)
    throw failure(
      'misconfigured',
      `args may not have ${refused}: how a turn is run is not for options to say`,
    )
  return {
    command: [program, ...more],
    sandbox: sandboxOf(options.sandbox),
    args,
    config: configOf(options.config ?? ''),
    offlineTimeoutMs: durationMs(options.offline_timeout),
  }
}

function sandboxOf(text: string | undefined): Sandbox | undefined {
  const sandbox = SANDBOXES.find((known) => known === text)
  if (text === undefined || sandbox !== undefined) return sandbox
  throw failure('misconfigured', `sandbox is ${SANDBOXES.join(', ')}; not ${JSON.stringify(text)}`)
}

/** A semicolon within quotes is part of a value. */
function configOf(text: string): string[] {
  const values = (text.match(/(?:[^;"']|"(?:[^"\\]|\\.)*"|'[^']*'|["'])+/g) ?? [])
    .map((value) => value.trim())
    .filter((value) => value !== '')
  for (const value of values) {
    if (!/^[^=\s]+\s*=/.test(value))
      throw failure('misconfigured', `config has ${JSON.stringify(value)}, which is not key=value`)
    if (/^approval_policy\s*=(?!\s*"?never"?\s*$)/.test(value)) {
      throw failure(
        'misconfigured',
        'codex exec cannot ask for permission, so approval_policy has no use: say with --option sandbox=… or --allow what it may do',
      )
    }
  }
  return values
}

function durationMs(text: string | undefined): number {
  if (text === undefined) return OFFLINE_TIMEOUT_MS
  const [, count, unit = ''] = /^(\d+(?:\.\d+)?)(s|m|h)$/.exec(text) ?? []
  const ms = Number(count) * (UNIT_MS[unit] ?? Number.NaN)
  if (ms > 0 && ms <= MS_MAX) return ms
  throw failure(
    'misconfigured',
    `offline_timeout is no duration such as 90s, 5m or 1h: ${JSON.stringify(text)}`,
  )
}
