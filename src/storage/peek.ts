/**
 * One look at the end of a file, for who looks at the files of very many agents: one read into memory that is used again
 * and again. What is larger than that, or not there, is for the reader that takes its time.
 */
import * as io from './io.js'

const BYTES_MAX = 64 * 1024

let memory: Buffer | undefined

/** From `from` to the end. Good until the next look. */
export function peek(point: string, path: string, from: number): Buffer | undefined {
  memory ??= Buffer.allocUnsafe(BYTES_MAX)
  const count = io.readInto(point, path, from, memory)
  // A read of a plain file is short at its end and nowhere else; a checksum is behind that in every case.
  return count === undefined || count === BYTES_MAX ? undefined : memory.subarray(0, count)
}
