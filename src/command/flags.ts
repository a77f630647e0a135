/** Arguments and flags that several commands have. */
import { string } from '@oclif/core/args'
import { boolean, custom } from '@oclif/core/flags'
import { parseTime } from '../clock.js'
import { SubstratError } from '../errors.js'
import { type DueTime, dueAfter } from '../session/durations.js'
import { parseDuration } from './durations.js'
import { isValid, parseNames } from './setting-kinds.js'

/** The argument AGENT. */
export const agent = string({
  description: 'name, path, UUID or UUID prefix',
  required: true,
  ignoreStdin: true,
})

/** `--stream`. */
export const stream = boolean({
  description: 'print one JSON line per record, with live text marked partial',
  exclusive: ['json'],
})

/** Names with commas between them, or the flag several times. */
export const allow = custom<string[]>({
  description: 'tools that run without approval, as shell,write_file or all; default: setting allow',
  async parse(text) {
    if (text === '' || isValid('names', text)) return parseNames(text)
    throw new SubstratError('USAGE', `${JSON.stringify(text)} are no names of tools`, {
      hint: 'write them with commas between them: --allow shell,write_file; or --allow all',
    })
  },
})

/** A duration with its unit; milliseconds when parsed. */
export const duration = custom<number>({
  helpValue: '30s|10m|2h',
  async parse(text) {
    const ms = parseDuration(text)
    if (ms !== undefined) return ms
    throw new SubstratError('USAGE', `${JSON.stringify(text)} is no duration`, {
      hint: 'write a number and its unit, at most 24 days: 250ms, 30s, 10m, 2h, 1d',
    })
  },
})

/** How long ago; milliseconds when parsed. */
export const age = custom<number>({
  helpValue: '12h|30d',
  async parse(text) {
    const ms = parseDuration(text, Number.MAX_SAFE_INTEGER)
    if (ms !== undefined) return ms
    throw new SubstratError('USAGE', `${JSON.stringify(text)} is no age`, {
      hint: 'write a number and its unit: 30m, 12h, 30d',
    })
  },
})

/** `--no-drain`: the mail that the command causes waits for another. */
export const drain = boolean({
  default: true,
  allowNo: true,
  description: 'also run agents that receive mail because of this command',
})

/** A time, or how long from now. */
export const time = custom<DueTime>({
  helpValue: '10m|2026-11-20T10:00:00Z',
  async parse(text) {
    const ms = parseDuration(text)
    if (ms !== undefined) return dueAfter(ms)
    const at = parseTime(text)
    if (at !== undefined) return { at, clock: null }
    throw new SubstratError('USAGE', `${JSON.stringify(text)} is no time`, {
      hint: 'write how long from now (30s, 10m, 2h) or a time in ISO 8601 (2026-11-20T10:00:00Z)',
    })
  },
})
