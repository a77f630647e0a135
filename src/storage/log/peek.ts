/**
 * Reads the end of a file with one read into a reused buffer. Lists use it for the files of very many agents. It
 * returns undefined if the rest of the file is too large, missing or unreadable; the slower full reader then says why.
 */
import * as io from '../../host/disk/io.js'

/** Larger than the snapshot of an agent with the maximum of keys, tokens and mail ids. */
const BYTES_MAX = 256 * 1024

let memory: Buffer | undefined

/** The bytes from `from` to the end. Valid until the next call. */
export function peek(point: string, path: string, from: number): Buffer | undefined {
  memory ??= Buffer.allocUnsafe(BYTES_MAX)
  const count = read(point, path, from, memory)
  // A read of a regular file is short only at its end. The caller's checksum detects any other short read.
  return count === undefined || count === BYTES_MAX ? undefined : memory.subarray(0, count)
}

function read(point: string, path: string, from: number, buffer: Buffer): number | undefined {
  try {
    return io.readInto(point, path, from, buffer)
  } catch {
    return undefined
  }
}
