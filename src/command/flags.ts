/** Flags that several commands have. */
import { boolean, custom } from '@oclif/core/flags'
import { SubstratError } from '../errors.js'
import { parseDuration } from './durations.js'
import { isGood, parseNames } from './setting-kinds.js'

/** `--stream`. */
export const stream = boolean({
  description: 'one JSON line per record, live text marked partial',
  exclusive: ['json'],
})

/** Names with commas between them, or the flag several times. */
export const allow = custom<string[]>({
  description: 'tools that may change things without being asked about: shell,write_file or all',
  async parse(text) {
    if (text === '' || isGood('names', text)) return parseNames(text)
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
