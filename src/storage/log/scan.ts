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
import { limits } from '../../limits.js'
import { checksumOf, damageOf, LF, unframe } from './frame.js'

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

/** An open log, or a test's replacement for it. */
export interface LogBytes {
  size(): number
  read(from: number, to: number): Buffer
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
 * Records of some kinds in `[from, to)`, which must be fsynced. Checks each line's checksum and seq but parses no other
 * record, which takes a tenth of the time of a scan.
 */
export function* scanForKinds(
  reader: LogBytes,
  from: ScanStart,
  to: number,
  kinds: readonly string[],
): Generator<LoggedRecord, LogDamage | undefined> {
  let { seq } = from
  for (const { bytes, offset, end, complete } of linesOf(reader, from.offset, to)) {
    const head = recordHead(seq)
    const why = complete ? damageOf(bytes, head) : 'its line has no end'
    if (why !== undefined) return { kind: 'corrupt', offset, seq, reason: why }
    const kind = kindAfter(bytes, head)
    if (kind === undefined || kinds.includes(kind)) {
      const { object } = unframe(bytes) as { object: JsonObject }
      if (kinds.includes(object.kind as string)) yield { record: object, seq, offset, end }
    }
    seq += 1
  }
  return undefined
}

const TIMESTAMP_BYTES = '"ts":"2026-01-01T00:00:00.000Z",'.length
const KIND = '"kind":"'
/** More than the longest kind. */
const KIND_BYTES_MAX = 64

/** The kind of a record whose line has it after the seq and the time, as in every line that substrat writes. */
function kindAfter(line: Buffer, head: string): string | undefined {
  const from = head.length + TIMESTAMP_BYTES
  const text = line.toString('latin1', from, from + KIND_BYTES_MAX)
  const end = text.indexOf('"', KIND.length)
  return text.startsWith(KIND) && end !== -1 ? text.slice(KIND.length, end) : undefined
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

/** The fixed beginning of that record's line. */
export function recordHead(seq: number): string {
  return `${RECORD_START}${seq},`
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

interface Line {
  bytes: Buffer
  offset: number
  end: number
  complete: boolean
}

const CHUNK_BYTES = 1024 * 1024
/**
 * Every record begins with these bytes. They occur nowhere else in a record: inside a string, the quotes would be
 * escaped.
 */
const RECORD_START = '{"seq":'

function* linesOf(reader: LogBytes, from: number, size: number): Generator<Line> {
  let carried: Buffer = Buffer.alloc(0)
  let offset = from
  for (let position = from; position < size; position += CHUNK_BYTES) {
    const chunk = reader.read(position, Math.min(size, position + CHUNK_BYTES))
    const bytes = carried.length === 0 ? chunk : Buffer.concat([carried, chunk])
    let start = 0
    for (let lf = bytes.indexOf(LF); lf !== -1; lf = bytes.indexOf(LF, start)) {
      const end = offset + (lf + 1 - start)
      yield { bytes: bytes.subarray(start, lf), offset, end, complete: true }
      offset = end
      start = lf + 1
    }
    carried = bytes.subarray(start)
    // Bytes without LF, longer than any line, are damage. Keep only the last `lineBytesMax` bytes: a whole line may
    // begin among them.
    if (carried.length > limits.lineBytesMax) {
      const end = position + chunk.length - limits.lineBytesMax
      yield { bytes: carried.subarray(0, 64), offset, end, complete: false }
      offset = end
      carried = carried.subarray(-limits.lineBytesMax)
    }
  }
  if (carried.length > 0) yield { bytes: carried, offset, end: size, complete: false }
}
