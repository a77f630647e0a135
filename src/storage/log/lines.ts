/**
 * Splits a log into lines, and checks the line of a record.
 *
 * Native calls compare a text of the bytes. A process checks some hundred lines before V8 has compiled anything, and a loop over the
 * bytes of each line takes twice as long.
 */
import { limits } from '../../limits.js'
import { LF, SUFFIX_BYTES, suffixOf } from './frame.js'

/** An open log, or a test's replacement for it. */
export interface LogBytes {
  size(): number
  read(from: number, to: number): Buffer
}

export interface Line {
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
export const RECORD_START = '{"seq":'

/** The whole lines from `from` to `to`, a chunk of the log at a time. Ends before a line without an end. */
export function* piecesOf(reader: LogBytes, from: number, to: number): Generator<Buffer> {
  let carried: Buffer = Buffer.alloc(0)
  for (let at = from; at < to && carried.length <= limits.lineBytesMax; at += CHUNK_BYTES) {
    const chunk = reader.read(at, Math.min(to, at + CHUNK_BYTES))
    const bytes = carried.length === 0 ? chunk : Buffer.concat([carried, chunk])
    const end = bytes.lastIndexOf(LF) + 1
    yield bytes.subarray(0, end)
    carried = bytes.subarray(end)
  }
}

export function* linesOf(reader: LogBytes, from: number, size: number): Generator<Line> {
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

/** The fixed beginning of that record's line. */
export function recordHead(seq: number): string {
  return `${RECORD_START}${seq},`
}

/** Lines with their LF, also as a text with a character for each byte. */
export interface Lines {
  bytes: Buffer
  text: string
}

export function textOf(bytes: Buffer): Lines {
  return { bytes, text: bytes.toString('latin1') }
}

/** Whether that line, whose LF is at `lf`, is an intact record `seq`. The same as `damageOf` answers. */
export function isIntactLine({ bytes, text }: Lines, start: number, lf: number, seq: number): boolean {
  const head = recordHead(seq)
  const split = lf - SUFFIX_BYTES
  if (split <= start + head.length || !text.startsWith(head, start)) return false
  return text.startsWith(suffixOf(bytes.subarray(start, split)), split)
}

const TIMESTAMP_BYTES = '"ts":"2026-01-01T00:00:00.000Z",'.length
const KIND = '"kind":"'

/** The kind of a record whose line has it after the seq and the time, as in every line that substrat writes. */
export function kindIn(text: string, start: number, seq: number): string | undefined {
  const at = start + recordHead(seq).length + TIMESTAMP_BYTES
  return text.startsWith(KIND, at)
    ? text.slice(at + KIND.length, text.indexOf('"', at + KIND.length))
    : undefined
}
