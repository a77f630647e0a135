/** Searches whole parts of a log and of blobs, and parses only the lines that hit. */
import type { JsonObject } from '../../format.js'
import { LF, unframe } from './frame.js'
import type { Finder } from './needle.js'
import type { LogReader } from './reader.js'

const PART_BYTES = 1024 * 1024
const NAMES_BLOB = Buffer.from('"blob":"')
const HASH_DIGITS = 64

/** Whether the parts of a file contain it, also across the end of a part. */
export function contains(parts: Iterable<Buffer>, { find, bytesMax }: Finder): boolean {
  let carried: Buffer = Buffer.alloc(0)
  for (const part of parts) {
    const bytes = carried.length === 0 ? part : Buffer.concat([carried, part])
    if (find(bytes, 0) !== -1) return true
    carried = bytes.subarray(Math.max(0, bytes.length - bytesMax))
  }
  return false
}

/** Undamaged records of whole batches whose lines hit, or name one of the blobs. */
export function* recordsFound(log: LogReader, finder: Finder, blobs: Set<string>): Generator<JsonObject> {
  let lastSeq: number | undefined
  for (const bytes of wholeLines(log)) {
    for (let at = nextHit(bytes, 0, finder, blobs); at !== -1; ) {
      const end = bytes.indexOf(LF, at)
      const line = unframe(bytes.subarray(bytes.lastIndexOf(LF, at) + 1, end))
      if (!('damage' in line)) {
        const { batch } = line.object
        const last = Array.isArray(batch) ? (batch[1] as number) : 0
        // Only the last batch of a log may be incomplete, and then it counts as not written.
        if (last > (line.object.seq as number)) lastSeq ??= lastSeqOf(log)
        if (lastSeq === undefined || last <= lastSeq) yield line.object
      }
      at = nextHit(bytes, end + 1, finder, blobs)
    }
  }
}

function lastSeqOf(log: LogReader): number {
  for (const { record } of log.recordsFromEnd()) return record.seq as number
  return 0
}

function nextHit(bytes: Buffer, from: number, finder: Finder, blobs: Set<string>): number {
  const text = finder.find(bytes, from)
  const blob = blobs.size === 0 ? -1 : nextBlob(bytes, from, blobs)
  return blob === -1 || (text !== -1 && text < blob) ? text : blob
}

function nextBlob(bytes: Buffer, from: number, blobs: Set<string>): number {
  for (let at = from; ; ) {
    at = bytes.indexOf(NAMES_BLOB, at)
    if (at === -1) return -1
    const begin = at + NAMES_BLOB.length
    if (blobs.has(bytes.toString('latin1', begin, begin + HASH_DIGITS))) return at
    at = begin
  }
}

/** Parts of the log that begin and end with a line. A tail without an LF is not whole. */
function* wholeLines(log: LogReader): Generator<Buffer> {
  const size = log.size()
  let carried: Buffer[] = []
  for (let at = 0; at < size; at += PART_BYTES) {
    const part = log.read(at, Math.min(size, at + PART_BYTES))
    const end = part.lastIndexOf(LF) + 1
    if (end === 0) {
      carried.push(part)
      // Longer than any line, so this is damage.
      if (carried.length > 4) carried = []
      continue
    }
    yield carried.length === 0 ? part.subarray(0, end) : Buffer.concat([...carried, part.subarray(0, end)])
    carried = end === part.length ? [] : [part.subarray(end)]
  }
}
