/** CRC-32, as in zlib. */

type Crc32 = (content: string | Uint8Array, value: number) => number

/** A method of Node that its types lack. */
type ProcessWithBinding = NodeJS.Process & { binding(name: 'zlib'): { crc32?: Crc32 } }

const CHECK = '123456789'
const OF_CHECK = 0xcbf43926

const native = nativeCrc32()

/** Continues the checksum `value`. A text is hashed as UTF-8. */
export function crc32(content: string | Uint8Array, value = 0): number {
  return native(content, value)
}

/** Uses the binding, which every process has loaded. Loading node:zlib takes time, because it also loads Node's streams. */
function nativeCrc32(): Crc32 {
  try {
    const found = (process as ProcessWithBinding).binding('zlib').crc32
    if (found?.(CHECK, 0) === OF_CHECK) return found
  } catch {
    // This version of Node has no such binding, or refuses it.
  }
  return process.getBuiltinModule('node:zlib').crc32
}
