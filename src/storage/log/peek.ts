/**
 * One look at the end of a file, for who looks at the files of very many agents: one read into memory that is used again
 * and again. What is larger than that, not there, or cannot be read, is for the reader that takes its time and says why.
 */
import * as io from '../../host/disk/io.js'

/** The snapshot of an agent that has as many keys, tokens and ids of mail as it can have is smaller. */
const BYTES_MAX = 256 * 1024

let memory: Buffer | undefined

/** From `from` to the end. Good until the next look. */
export function peek(point: string, path: string, from: number): Buffer | undefined {
  memory ??= Buffer.allocUnsafe(BYTES_MAX)
  const count = read(point, path, from, memory)
  // A read of a plain file is short at its end and nowhere else; a checksum is behind that in every case.
  return count === undefined || count === BYTES_MAX ? undefined : memory.subarray(0, count)
}

function read(point: string, path: string, from: number, buffer: Buffer): number | undefined {
  try {
    return io.readInto(point, path, from, buffer)
  } catch {
    return undefined
  }
}
