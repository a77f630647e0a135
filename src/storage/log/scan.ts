/**
 * Reads a log: batches, single records, and the undamaged records of a damaged log.
 *
 * Invariants:
 * - seq is dense from 1.
 * - A batch is atomic: its lines carry `batch: [first, last]`, and an incomplete last batch counts as not written.
 * - No append follows an unsynced batch, so a crash can truncate only the last batch. Damage before a later batch is
 *   corruption (durability rules 4 and 5).
 */
import type { JsonObject } from '../../format.js'
import { checksumOf, damageOf, LF, parseIntact, unframe } from './frame.js'
import {
  isIntactLine,
  kindIn,
  type LogBytes,
  linesOf,
  piecesOf,
  RECORD_START,
  recordHead,
  textOf,
} from './lines.js'

/** A record and its place in the log. */
export interface LoggedRecord {
  record: JsonObject
  seq: number
  /** Byte range of its line, LF included. */
  offset: number
  end: number
}

export interface LogDamage {
  /** `torn`: a truncated tail, which counts as not written. `corrupt`: any other damage. */
  kind: 'torn' | 'corrupt'
  /** Start of the damaged batch, and the expected seq of its first record. */
  offset: number
  seq: number
  reason: string
}

export interface ScanEnd {
  /** End of the last whole batch. */
  end: number
  lastSeq: number
  damage: LogDamage | undefined
}

/** A scan begins at the line of record `seq`. */
export interface ScanStart {
  offset: number
  seq: number
  /** Whether that record may be inside a batch. The first batch is then yielded from that record on. */
  isWithinBatch?: boolean
  /** The caller refuses every damage, so the scan ends there. It returns each damage as a truncated tail. */
  isDamageRefused?: boolean
}

/**
 * Yields whole batches to the end of the log. An append that a living writer has not finished reads as a truncated
 * tail.
 */
export function* scanLog(reader: LogBytes, start: ScanStart): Generator<LoggedRecord[], ScanEnd> {
  const size = reader.size()
  const from = start.offset
  const firstSeq = start.seq
  let batch: LoggedRecord[] = []
  let batchStart = from
  let batchFirst: number | undefined = start.isWithinBatch === true ? undefined : firstSeq
  let expectedSeq = firstSeq
  const tornEnd = (reason: string): ScanEnd => {
    const seq = batch[0]?.seq ?? expectedSeq
    return { end: batchStart, lastSeq: seq - 1, damage: { kind: 'torn', offset: batchStart, seq, reason } }
  }
  for (const line of linesOf(reader, from, size)) {
    const parsed = line.complete ? unframe(line.bytes) : { damage: 'its line has no end' }
    const misplaced = 'damage' in parsed ? parsed.damage : misplacedIn(parsed.object, expectedSeq, batchFirst)
    if (misplaced !== undefined) {
      const end = tornEnd(misplaced)
      if (start.isDamageRefused === true) return end
      // A misplaced line with a good checksum was written whole, so no crash left it.
      const isWhole = !('damage' in parsed)
      if (isWhole || otherBatchFrom(reader, line.offset, size, batchFirst ?? expectedSeq))
        end.damage = { ...(end.damage as LogDamage), kind: 'corrupt' }
      return end
    }
    const { object } = parsed as { object: JsonObject }
    const range = object.batch as [number, number]
    batch.push({ record: object, seq: expectedSeq, offset: line.offset, end: line.end })
    batchFirst = range[0]
    if (range[1] === expectedSeq) {
      yield batch
      batch = []
      batchStart = line.end
      batchFirst = expectedSeq + 1
    }
    expectedSeq += 1
  }
  if (batch.length > 0) return tornEnd('its batch is not whole')
  return { end: batchStart, lastSeq: expectedSeq - 1, damage: undefined }
}

/** Undefined unless the line of an undamaged record begins at `offset` and ends at `end`. */
export function readRecordAt(reader: LogBytes, offset: number, end: number): JsonObject | undefined {
  if (offset < 0 || end <= offset || end > reader.size()) return undefined
  const bytes = reader.read(offset, end)
  if (bytes.at(-1) !== LF) return undefined
  const line = unframe(bytes.subarray(0, -1))
  return 'damage' in line ? undefined : line.object
}

/**
 * Records of some kinds in `[from, to)`, which must be fsynced and whole lines: a log that ends before `to` is damaged.
 * Checks each line's checksum and seq but parses no other record, which takes a tenth of the time of a scan.
 */
export function* scanForKinds(
  reader: LogBytes,
  from: ScanStart,
  to: number,
  kinds: readonly string[],
): Generator<LoggedRecord, LogDamage | undefined> {
  let { seq, offset } = from
  const damaged = (reason: string): LogDamage => ({ kind: 'corrupt', offset, seq, reason })
  for (const bytes of piecesOf(reader, offset, to)) {
    const lines = textOf(bytes)
    const pieceOffset = offset
    let start = 0
    for (let lf = lines.text.indexOf('\n'); lf !== -1; lf = lines.text.indexOf('\n', start)) {
      if (!isIntactLine(lines, start, lf, seq))
        return damaged(damageOf(bytes.subarray(start, lf), recordHead(seq)) as string)
      const kind = kindIn(lines.text, start, seq)
      const end = pieceOffset + lf + 1
      if (kind === undefined || kinds.includes(kind)) {
        const parsed = parseIntact(bytes.subarray(start, lf))
        if ('damage' in parsed) return damaged(parsed.damage)
        if (kinds.includes(parsed.object.kind as string)) yield { record: parsed.object, seq, offset, end }
      }
      seq += 1
      offset = end
      start = lf + 1
    }
  }
  return offset < to ? damaged('its line has no end') : undefined
}

/** Records before `to` whose lines contain that text. Checks no other line: the log before `to` must be whole. */
export function* recordsWith(reader: LogBytes, text: string, to: number): Generator<JsonObject> {
  const mark = Buffer.from(text)
  for (const { bytes } of linesOf(reader, 0, to)) {
    const line = bytes.includes(mark) ? unframe(bytes) : { damage: 'it does not match' }
    if (!('damage' in line)) yield line.object
  }
}

/** The checksum of record `seq`. Undefined unless its line begins at `offset` and ends at `end`. */
export function checksumAt(reader: LogBytes, seq: number, offset: number, end: number): string | undefined {
  if (offset < 0 || end <= offset || end > reader.size()) return undefined
  const bytes = reader.read(offset, end)
  const line = bytes.subarray(0, -1)
  const isThere = bytes.at(-1) === LF && damageOf(line, recordHead(seq)) === undefined
  return isThere ? checksumOf(line) : undefined
}

/** Every undamaged record after `from`, also between damaged ones. */
export function* salvage(reader: LogBytes, from: number): Generator<JsonObject> {
  for (const line of linesOf(reader, from, reader.size())) {
    const record = line.complete ? recordAtEndOf(line.bytes) : undefined
    if (record !== undefined) yield record
  }
}

function misplacedIn(
  object: JsonObject,
  expectedSeq: number,
  batchFirst: number | undefined,
): string | undefined {
  const range = object.batch
  if (object.seq !== expectedSeq)
    return `its seq is ${typeof object.seq === 'number' ? object.seq : 'not a number'}, not ${expectedSeq}`
  if (!Array.isArray(range) || typeof range[0] !== 'number' || typeof range[1] !== 'number')
    return 'it has no batch range'
  const [first, last] = range
  if (first !== (batchFirst ?? first) || first > expectedSeq || last < expectedSeq)
    return 'it belongs to another batch'
  return undefined
}

/** Whether an undamaged record of another batch than that of `firstSeq` follows. */
function otherBatchFrom(reader: LogBytes, from: number, size: number, firstSeq: number): boolean {
  for (const line of linesOf(reader, from, size)) {
    const record = line.complete ? recordAtEndOf(line.bytes) : undefined
    if (record !== undefined && (record.batch as [number, number] | undefined)?.[0] !== firstSeq) return true
  }
  return false
}

/** The record at the end of the line. If the LF between two records is damaged, the later record is still whole. */
function recordAtEndOf(line: Buffer): JsonObject | undefined {
  const parsed = unframe(line.subarray(Math.max(0, line.lastIndexOf(RECORD_START))))
  return 'damage' in parsed ? undefined : parsed.object
}

const WINDOW_BYTES = 64 * 1024

/** Records from last to first. Leaves out damaged lines, such as a truncated tail. */
export function* recordsFromEnd(reader: LogBytes): Generator<{ record: JsonObject; offset: number }> {
  const size = reader.size()
  let end: number | undefined
  for (let window = WINDOW_BYTES; ; window *= 4) {
    const from = Math.max(0, size - window)
    const bytes = reader.read(from, size)
    let lf = end === undefined ? bytes.lastIndexOf(LF) : end - from
    while (lf > 0) {
      const start = bytes.lastIndexOf(LF, lf - 1) + 1
      // The line may begin before the window.
      if (start === 0 && from > 0) break
      const line = unframe(bytes.subarray(start, lf))
      if (!('damage' in line)) yield { record: line.object, offset: from + start }
      lf = start - 1
    }
    if (from === 0) return
    if (lf !== -1) end = from + lf
  }
}
