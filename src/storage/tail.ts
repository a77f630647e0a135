/** The end of a log, looked at again before anybody builds upon it: what is read often is not trusted for having been written. */
import { damageOf, LF } from './frame.js'
import type { LogReader } from './log.js'

export interface SyncedEnd {
  /** Behind the last record that is known to be synced, and that record's seq. */
  end: number
  lastSeq: number
  /** How far back it is looked at: lines that begin before that are not. */
  bytesMax: number
}

/** Whether each line checks, and they are in their order. */
export function isWholeBefore(log: LogReader, { end, lastSeq, bytesMax }: SyncedEnd): boolean {
  const from = Math.max(0, end - bytesMax)
  const bytes = log.read(from, end)
  let seq = lastSeq
  for (let lf = bytes.length - 1; lf > 0; seq--) {
    const start = bytes.lastIndexOf(LF, lf - 1) + 1
    if (start === 0 && from > 0) return true
    const line = bytes.subarray(start, lf)
    if (seqOf(line) !== seq || damageOf(line) !== undefined) return false
    lf = start - 1
  }
  return seq === 0 || from > 0
}

function seqOf(line: Buffer): number {
  return Number(/^\{"seq":(\d+),/.exec(line.toString('latin1', 0, 32))?.[1])
}
