/** Reads and checks the options. */
import type { ProviderSettings } from 'substrat/provider'
import { failure } from '../../shared/src/failure.js'
import { wordsOf } from '../../shared/src/program/words.js'

const SANDBOXES = ['read-only', 'workspace-write', 'danger-full-access'] as const
export type Sandbox = (typeof SANDBOXES)[number]

export interface Settings {
  /** The program and any arguments that it needs: `npx codex`. */
  command: [string, ...string[]]
  /** Undefined if `--allow` decides. */
  sandbox: Sandbox | undefined
  args: string[]
  /** Values for `-c`. */
  config: string[]
  offlineTimeoutMs: number
}

export const OPTIONS = {
  command: 'the program (codex)',
  sandbox: 'read-only, workspace-write or danger-full-access (default: --allow decides; see the README)',
  args: 'more arguments for codex exec, quoted as in a shell',
  config: "values of codex's config.toml for this agent: key=value, separated by ;",
  offline_timeout: 'fail the turn if codex has had no connection for this time (5m)',
} satisfies Record<string, string>

const OFFLINE_TIMEOUT_MS = 5 * 60_000
const UNIT_MS: Record<string, number> = { s: 1000, m: 60_000, h: 3_600_000 }
// The longest delay of a Node timer.
const MS_MAX = 2 ** 31 - 1
/** Arguments that the provider sets, or with which a thread could not be continued. */
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
  if (program === undefined)
    throw failure('misconfigured', 'the option command is empty; omit it, or name the program')
  const args = wordsOf('args', options.args ?? '')
  const refused = args.find((word) => NOT_TAKEN.includes(word.replace(/=.*/s, '')))
  if (refused !== undefined)
    throw failure(
      'misconfigured',
      `the option args must not contain ${refused}: the provider decides how a turn runs`,
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
  throw failure(
    'misconfigured',
    `the option sandbox must be one of ${SANDBOXES.join(', ')}, not ${JSON.stringify(text)}`,
  )
}

/** A semicolon within quotes is part of a value. */
function configOf(text: string): string[] {
  const values = (text.match(/(?:[^;"']|"(?:[^"\\]|\\.)*"|'[^']*'|["'])+/g) ?? [])
    .map((value) => value.trim())
    .filter((value) => value !== '')
  for (const value of values) {
    if (!/^[^=\s]+\s*=/.test(value))
      throw failure(
        'misconfigured',
        `the option config contains ${JSON.stringify(value)}, which is not key=value`,
      )
    if (/^approval_policy\s*=(?!\s*"?never"?\s*$)/.test(value)) {
      throw failure(
        'misconfigured',
        'codex exec cannot ask for permission, so approval_policy has no effect; use --option sandbox=… or --allow',
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
    `the option offline_timeout must be a duration such as 90s, 5m or 1h, not ${JSON.stringify(text)}`,
  )
}
