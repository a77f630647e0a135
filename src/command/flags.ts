/** Flags that several commands have. */
import { custom } from '@oclif/core/flags'
import { SubstratError } from '../errors.js'
import { parseDuration } from './durations.js'

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
