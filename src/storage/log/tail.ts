/** Checks the end of a log again before a command relies on its snapshot: fsynced bytes may have been damaged since. */
import { crc32 } from '../../start/crc32.js'
import { hexOf, LF } from './frame.js'
import { isIntactLine, type LogBytes, textOf } from './lines.js'

export interface SyncedEnd {
  /** End of the last record that is known to be fsynced, and its seq. */
  end: number
  lastSeq: number
  /** Only lines that begin in the last `bytesMax` bytes are checked. */
  bytesMax: number
  /** The checksum that the last `bytesMax` bytes had when they were intact, as a snapshot has it. It may be any value. */
  crc?: unknown
}

const PARTS_MAX = 64

/** Bytes at the end of a log that are intact: each was checked, or appended by this process. */
export class IntactEnd {
  private constructor(
    readonly end: number,
    private readonly bytesMax: number,
    private readonly parts: Buffer[],
  ) {}

  static of(bytes: Buffer, { end, bytesMax }: SyncedEnd): IntactEnd {
    return new IntactEnd(end, bytesMax, [bytes])
  }

  /** The end of the log after that append. Earlier bytes than the last `bytesMax` are forgotten. */
  after(batch: Buffer): IntactEnd {
    const parts = [...this.parts, batch]
    const isMuch = parts.length > PARTS_MAX || lengthOf(parts) > 2 * this.bytesMax
    const kept = isMuch ? [Buffer.from(Buffer.concat(parts).subarray(-this.bytesMax))] : parts
    return new IntactEnd(this.end + batch.length, this.bytesMax, kept)
  }

  /** The checksum of the last `bytesMax` bytes of the log, or of all if it is shorter. Undefined unless all of them are intact. */
  checksum(): string | undefined {
    let skipped = lengthOf(this.parts) - Math.min(this.end, this.bytesMax)
    if (skipped < 0) return undefined
    let crc = 0
    for (const part of this.parts) {
      crc = crc32(part.subarray(skipped), crc)
      skipped = Math.max(0, skipped - part.length)
    }
    return hexOf(crc)
  }
}

/**
 * Undefined if the end of the log is damaged. It is intact if its bytes have the known checksum, or if each line has a good checksum
 * and the expected seq. The known checksum only saves time: if it is missing or wrong, the lines decide.
 */
export function intactEnd(log: LogBytes, synced: SyncedEnd): IntactEnd | undefined {
  const from = Math.max(0, synced.end - synced.bytesMax)
  const bytes = log.read(from, synced.end)
  if (synced.crc !== undefined && hexOf(crc32(bytes)) === synced.crc) return IntactEnd.of(bytes, synced)
  const start = startOfLines(bytes, synced.lastSeq, from === 0)
  return start === undefined ? undefined : IntactEnd.of(bytes.subarray(start), synced)
}

/** Where the first whole line of these bytes begins, if every line from there is intact. Otherwise undefined. */
function startOfLines(bytes: Buffer, lastSeq: number, isWholeLog: boolean): number | undefined {
  if (bytes.length > 0 && bytes.at(-1) !== LF) return undefined
  const lines = textOf(bytes)
  let seq = lastSeq
  let lf = bytes.length - 1
  for (; lf > 0; seq--) {
    const start = lines.text.lastIndexOf('\n', lf - 1) + 1
    if (start === 0 && !isWholeLog) break
    if (!isIntactLine(lines, start, lf, seq)) return undefined
    lf = start - 1
  }
  return seq === 0 || !isWholeLog ? lf + 1 : undefined
}

function lengthOf(parts: Buffer[]): number {
  return parts.reduce((sum, { length }) => sum + length, 0)
}
