/**
 * One JSON object per line, closed by a checksum: `{…,"crc":"9f3a01bc"}` and LF. The same frame is used for records,
 * snapshots, mail and index entries.
 *
 * Invariants: a line is split on the LF byte only, so U+2028 and U+2029 are written escaped. The crc is a fixed 18-byte
 * suffix: CRC-32 of the line's bytes before it. A framed line that does not check is damage, never skipped.
 */
import { crc32 } from 'node:zlib'
import type { JsonObject } from '../../format.js'

const SUFFIX = Buffer.from(',"crc":"00000000"}')
export const SUFFIX_BYTES = SUFFIX.length
const [CRC_BEGIN, CRC_END] = [8, 16]
export const LF = 0x0a

/** The line with its LF. `object` must not be empty and must have no `crc` of its own. */
export function frame(object: object): Buffer {
  const body = JSON.stringify(object)
    .slice(0, -1)
    .replace(/[\u2028\u2029]/g, escapeSeparator)
  // Of the text as UTF-8, which is how it is written.
  return Buffer.from(`${body}${suffixOf(body)}\n`)
}

/** What closes the line of that body, before the LF. */
export function suffixOf(body: Buffer | string): string {
  return `,"crc":"${crc32(body).toString(16).padStart(8, '0')}"}`
}

/** What a line says, or why it is damaged. */
export type Unframed = { object: JsonObject } | { damage: string }

/** The object of a line given without its LF. With `head`: the fields behind those first ones. */
export function unframe(line: Buffer, head = '{'): Unframed {
  const damage = damageOf(line, head)
  if (damage !== undefined) return { damage }
  try {
    return { object: JSON.parse(`{${unframedText(line, head)}}`) as JsonObject }
  } catch {
    return { damage: 'it is not JSON' }
  }
}

/** The object of a file that is one line. */
export function unframeFile(bytes: Buffer): Unframed {
  return unframe(bytes.subarray(0, -1))
}

/** What is between that beginning and the checksum, of a line that is whole. */
export function unframedText(line: Buffer, head: string): string {
  return line.toString('utf8', head.length, line.length - SUFFIX_BYTES)
}

/** Why the line is not whole, or does not begin so; undefined where it does. Takes a tenth of the time of reading its object. */
export function damageOf(line: Buffer, head = '{'): string | undefined {
  const split = line.length - SUFFIX_BYTES
  if (split <= head.length) return 'it is too short for a record'
  const crc = crcAt(line, split)
  if (crc === undefined) return line.includes(0) ? 'it has NUL bytes' : 'it has no checksum at its end'
  if (crc32(line.subarray(0, split)) !== crc) return 'its checksum is wrong'
  return line.toString('latin1', 0, head.length) === head ? undefined : 'it begins otherwise'
}

/** What stands at the end of a line, given without its LF, that is whole: eight digits. */
export function checksumOf(line: Buffer): string {
  return line.toString('latin1', line.length - SUFFIX_BYTES + CRC_BEGIN, line.length - SUFFIX_BYTES + CRC_END)
}

/** What the suffix says; undefined where it is none. Byte by byte, because texts take longer than the checksum itself. */
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

/** In lower case, as it is written. */
function hexDigit(byte: number): number | undefined {
  if (byte >= 0x30 && byte <= 0x39) return byte - 0x30
  return byte >= 0x61 && byte <= 0x66 ? byte - 0x61 + 10 : undefined
}

function escapeSeparator(separator: string): string {
  return separator === '\u2028' ? '\\u2028' : '\\u2029'
}
