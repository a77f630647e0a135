/**
 * One JSON object per line with a checksum at its end: `{…,"crc":"9f3a01bc"}` and LF. Records, snapshots, mail and
 * index entries use this frame.
 *
 * Invariants:
 * - Only the LF byte ends a line. U+2028 and U+2029 are written escaped.
 * - The crc is a fixed 18-byte suffix: the CRC-32 of the line's bytes before it.
 * - A line with a wrong checksum is damage. A reader reports it, unless its comment says that it leaves damage out.
 */

import type { JsonObject } from '../../format.js'
import { crc32 } from '../../start/crc32.js'

const SUFFIX = Buffer.from(',"crc":"00000000"}')
export const SUFFIX_BYTES = SUFFIX.length
const [CRC_BEGIN, CRC_END] = [8, 16]
export const LF = 0x0a

/** The line with its LF. `object` must have a field, and must not have a field `crc`. */
export function frame(object: object): Buffer {
  const body = JSON.stringify(object)
    .slice(0, -1)
    .replace(/[\u2028\u2029]/g, escapeSeparator)
  // crc32 of a string covers its UTF-8 bytes, which are also the bytes of the line.
  return Buffer.from(`${body}${suffixOf(body)}\n`)
}

/** The checksum suffix of a line with that body, without the LF. */
export function suffixOf(body: Buffer | string): string {
  return `,"crc":"${hexOf(crc32(body))}"}`
}

/** Eight digits. */
export function hexOf(crc: number): string {
  return crc.toString(16).padStart(8, '0')
}

/** The object of a line, or why the line is damaged. */
export type Unframed = { object: JsonObject } | { damage: string }

/** Parses a line without its LF. With `head`, a fixed beginning of the line, it returns only the fields after that. */
export function unframe(line: Buffer, head = '{'): Unframed {
  const damage = damageOf(line, head)
  return damage === undefined ? parseIntact(line, head) : { damage }
}

/** Like `unframe`, for a line whose checksum and head were checked. */
export function parseIntact(line: Buffer, head = '{'): Unframed {
  try {
    return { object: JSON.parse(`{${unframedText(line, head)}}`) as JsonObject }
  } catch {
    return { damage: 'it is not JSON' }
  }
}

/** Parses a file that is one line. */
export function unframeFile(bytes: Buffer): Unframed {
  return unframe(bytes.subarray(0, -1))
}

/** The text between `head` and the checksum. The line must be undamaged. */
function unframedText(line: Buffer, head: string): string {
  return line.toString('utf8', head.length, line.length - SUFFIX_BYTES)
}

/**
 * Why the first `length` bytes of `bytes`, a line, are damaged or do not begin with `head`. Undefined if the line is good.
 * Takes a tenth of the time of parsing.
 */
export function damageOf(bytes: Buffer, head = '{', length = bytes.length): string | undefined {
  const split = length - SUFFIX_BYTES
  if (split <= head.length) return 'it is too short for a record'
  const crc = crcAt(bytes, split)
  if (crc === undefined)
    return bytes.subarray(0, length).includes(0) ? 'it has NUL bytes' : 'it has no checksum at its end'
  if (crc32(bytes.subarray(0, split)) !== crc) return 'its checksum is wrong'
  return beginsWith(bytes, head) ? undefined : 'it does not begin as expected'
}

/** Whether the bytes begin with that ASCII text. Byte by byte, because a string of the bytes takes longer. */
export function beginsWith(bytes: Buffer, head: string): boolean {
  for (let index = 0; index < head.length; index++) if (bytes[index] !== head.charCodeAt(index)) return false
  return true
}

/** The eight checksum digits of an undamaged line, given without its LF. */
export function checksumOf(line: Buffer): string {
  return line.toString('latin1', line.length - SUFFIX_BYTES + CRC_BEGIN, line.length - SUFFIX_BYTES + CRC_END)
}

/**
 * The checksum in the suffix. Undefined without a suffix. Byte by byte, because strings take longer than the CRC
 * itself.
 */
function crcAt(line: Buffer, split: number): number | undefined {
  let crc = 0
  for (let index = 0; index < SUFFIX_BYTES; index++) {
    const byte = line[split + index] as number
    if (index < CRC_BEGIN || index >= CRC_END) {
      if (byte !== SUFFIX[index]) return undefined
      continue
    }
    const digit = hexDigit(byte)
    if (digit === undefined) return undefined
    crc = crc * 16 + digit
  }
  return crc
}

/** Lower case only, as written. */
function hexDigit(byte: number): number | undefined {
  if (byte >= 0x30 && byte <= 0x39) return byte - 0x30
  return byte >= 0x61 && byte <= 0x66 ? byte - 0x61 + 10 : undefined
}

function escapeSeparator(separator: string): string {
  return separator === '\u2028' ? '\\u2028' : '\\u2029'
}
