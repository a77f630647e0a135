/** Arguments and flags that several commands share. */

import type { Interfaces } from '@oclif/core'
import { string } from '@oclif/core/args'
import { boolean, custom, integer } from '@oclif/core/flags'
import { clock, parseTime } from '../clock.js'
import { SubstratError, shellWord } from '../errors.js'
import type { TextPattern } from '../operations/text-pattern.js'
import type { Amounts, Cap } from '../schema/budget.js'
import {
  MESSAGE_OPTIONS,
  type MessageOptions,
  messageOptions,
  rowsWithFlag,
  type SettableName,
} from '../schema/message.js'
import { WORKSPACE_SCOPES, type WorkspaceScope } from '../schema/words.js'
import { parseAmounts, parseCaps } from '../session/budget/caps.js'
import { type DueTime, dueAfter } from '../session/durations.js'
import { parseDuration } from '../settings/durations.js'
import { isValid, parseNames } from '../settings/setting-kinds.js'
import { parseRule } from '../turn/tools/on-unknown.js'

/** The argument AGENT. */
export const agent = string({
  description: 'agent name, path (parent/child), UUID or UUID prefix',
  required: true,
  ignoreStdin: true,
})

/** The argument NAME of a schedule. */
export const scheduleName = string({
  description: 'name or id of the schedule',
  required: true,
  ignoreStdin: true,
})

/** `--workspace-scope`. */
export const workspaceScope = custom<WorkspaceScope>({
  options: [...WORKSPACE_SCOPES],
  helpValue: 'host|any',
})

/** `--context`. */
export const context = custom<string>({
  helpValue: 'all|turn|last:N',
  async parse(text) {
    if (isValid('context', text)) return text
    throw new SubstratError('USAGE', `${JSON.stringify(text)} is not a context`, {
      hint: 'write all, turn, or last:N with N from 1 to 999',
    })
  },
})

/** `--budget`. An empty value removes the caps. */
export const budget = custom<Cap[]>({
  helpValue: 'UNIT=NUMBER[/PERIOD],…',
  async parse(text) {
    const caps = parseCaps(text)
    if (typeof caps !== 'string') return caps
    throw new SubstratError('USAGE', `--budget ${shellWord(text)} is not a budget: ${caps}`, {
      hint: 'write it as in --budget tokens=2M/day,usd=5',
    })
  },
})

/** `--add`. */
export const amounts = custom<Amounts>({
  helpValue: 'AMOUNTS',
  async parse(text) {
    const found = parseAmounts(text)
    if (typeof found !== 'string') return found
    throw new SubstratError('USAGE', `--add ${shellWord(text)} is not an amount: ${found}`, {
      hint: 'write it as in --add tokens=200k,usd=1',
    })
  },
})

/** `--stream`. */
export const stream = boolean({
  description:
    'print each record as a JSON line; live text has partial: true; with --json, the result is the last line',
})

/** `--no-live`. The base command reads it from the arguments. */
export const live = boolean({
  default: true,
  allowNo: true,
  helpGroup: 'GLOBAL',
  description: 'show progress while the command runs, on a terminal only; default: on',
})

/** `--print-token`. The base of the writing commands reads it from the arguments. */
export const printToken = boolean({
  helpGroup: 'GLOBAL',
  description:
    'print the one-time token of a turn that waits, on stderr; --json always has that of the command',
})

/** `--no-ask`. The base of the commands that ask reads it from the arguments. */
export const ask = boolean({
  default: true,
  allowNo: true,
  helpGroup: 'GLOBAL',
  description:
    'when a turn waits for you, ask on the terminal and continue it; default: on, at a terminal only (see the ask setting)',
})

/** Tool names and patterns, separated by commas. */
export const allow = custom<string[]>({
  description: MESSAGE_OPTIONS.allow.help,
  async parse(text) {
    if (text === '' || isValid('names', text)) return parseNames(text)
    throw new SubstratError('USAGE', `${JSON.stringify(text)} is not a list of tool names`, {
      hint: "separate names with commas, as in --allow write_file,'shell(npm test*)', or use --allow all",
    })
  },
})

/** `--on-unknown`. An empty value removes the rules. */
export const onUnknown = custom<string>({
  helpValue: 'TOOL=ACTION',
  multiple: true,
  multipleNonGreedy: true,
  async parse(text) {
    if (text === '' || parseRule(text) !== undefined) return text
    throw new SubstratError(
      'USAGE',
      `${JSON.stringify(text)} is not a rule for a tool call that a crash cut short`,
      {
        hint: "write TOOL=rerun, TOOL=stop, TOOL=continue or TOOL='check COMMAND', with TOOL as in --allow: 'shell(git push*)=check ./was-pushed'",
      },
    )
  },
})

export function rulesIn(rules: string[] | undefined): string[] | undefined {
  return rules?.filter((rule) => rule !== '')
}

/** A duration with its unit. Parses to milliseconds. */
export const duration = custom<number>({
  helpValue: '30s|10m|2h',
  async parse(text) {
    const ms = parseDuration(text)
    if (ms !== undefined) return ms
    throw new SubstratError('USAGE', `${JSON.stringify(text)} is not a duration`, {
      hint: 'write a number with a unit, at most 24 days: 250ms, 30s, 10m, 2h, 1d',
    })
  },
})

type Rows = typeof MESSAGE_OPTIONS
type FlagName<N extends SettableName> = Rows[N]['flag']
type MessageFlags = {
  [N in SettableName as FlagName<N>]: NonNullable<MessageOptions[N]> extends boolean
    ? Interfaces.BooleanFlag<boolean>
    : Interfaces.OptionFlag<NonNullable<MessageOptions[N]> | undefined>
}

/** The flags of the options of a message. */
export const messageFlags = Object.fromEntries(
  rowsWithFlag().map(([, { type, flag, help: description }]) => [
    flag,
    type === 'tools'
      ? allow({ description })
      : type === 'duration'
        ? duration({ description })
        : type === 'switch'
          ? boolean({ description })
          : integer({ min: 1, description }),
  ]),
) as unknown as MessageFlags

/** The options that the flags of a command name. */
export function optionsIn(flags: { [name: string]: unknown }): Omit<MessageOptions, 'key' | 'digest'> {
  const named = rowsWithFlag().map(([name, { flag }]) => [name, flags[flag]])
  return messageOptions(Object.fromEntries(named))
}

/** An age with its unit. Parses to milliseconds. */
export const age = custom<number>({
  helpValue: '12h|30d',
  async parse(text) {
    const ms = parseDuration(text, Number.MAX_SAFE_INTEGER)
    if (ms !== undefined) return ms
    throw new SubstratError('USAGE', `${JSON.stringify(text)} is not an age`, {
      hint: 'write a number with a unit: 30m, 12h, 30d',
    })
  },
})

/** With `--no-drain`, mail that the command causes stays pending for a later command. */
export const drain = boolean({
  default: true,
  allowNo: true,
  description: 'also run agents that receive mail because of this command; default: on',
})

/** For commands that ask a person first. */
export const yes = boolean({
  default: false,
  description: 'do not ask; default: at a terminal, ask before anything is changed',
})

/** A time, or a duration from now. */
export const time = custom<DueTime>({
  helpValue: '10m|2026-11-20T10:00:00Z',
  async parse(text) {
    const ms = parseDuration(text)
    if (ms !== undefined) return dueAfter(ms)
    const at = parseTime(text)
    if (at !== undefined) return { at, clock: null }
    throw new SubstratError('USAGE', `${JSON.stringify(text)} is not a time`, {
      hint: 'write a duration from now, such as 10m, or a time in ISO 8601, such as 2026-11-20T10:00:00Z',
    })
  },
})

/** The same, with the duration if the user wrote one. */
export const end = custom<{ at: string; afterMs: number | undefined }>({
  helpValue: '10m|2026-11-20T10:00:00Z',
  async parse(text, context, options) {
    const { at } = (await time().parse(text, context, options as never)) as DueTime
    return { at, afterMs: parseDuration(text) }
  },
})

/** A time, or an age before now. Parses to ISO 8601. */
export const since = custom<string>({
  helpValue: '24h|7d|2026-11-20',
  async parse(text) {
    const ms = parseDuration(text, Number.MAX_SAFE_INTEGER)
    const at = ms === undefined ? parseTime(text) : parseTime(timeBefore(ms))
    if (at !== undefined) return at
    throw new SubstratError('USAGE', `${JSON.stringify(text)} is neither a time nor an age`, {
      hint: 'write an age, such as 24h or 7d, or a time in ISO 8601, such as 2026-11-20T10:00:00Z',
    })
  },
})

/** A text, or a regular expression between slashes. */
export const pattern = custom<TextPattern>({
  helpValue: 'TEXT|/regex/i',
  async parse(text) {
    const { parsePattern } = await import('../operations/text-pattern.js')
    return parsePattern(text)
  },
})

function timeBefore(ms: number): string {
  const at = new Date(clock.now() - ms)
  return Number.isNaN(at.getTime()) ? '' : at.toISOString()
}
