/**
 * One look at the end of a file, for who looks at the files of very many agents: one read into memory that is used again
 * and again. What is larger than that, not there, or cannot be read, is for the reader that takes its time and says why.
 */
import * as io from './io.js'

/** The snapshot of an agent that has as many keys, tokens and ids of mail as it can have is smaller. */
const BYTES_MAX = 256 * 1024

let memory: Buffer | undefined

export interface Peeked {
  /** The first bytes of the file, as many as were asked for. */
  head: Buffer
  /** From `from` to the end. */
  tail: Buffer
}

/** Good until the next look. */
export function peek(point: string, path: string, from: number, headBytes = 0): Peeked | undefined {
  memory ??= Buffer.allocUnsafe(BYTES_MAX)
  const places: io.ReadPlace[] = [{ from, buffer: memory.subarray(headBytes) }]
  if (headBytes > 0) places.push({ from: 0, buffer: memory.subarray(0, headBytes) })
  const [count, headCount = 0] = read(point, path, places) ?? []
  // A read of a plain file is short at its end and nowhere else; a checksum is behind that in every case.
  if (count === undefined || count === BYTES_MAX - headBytes) return undefined
  return { head: memory.subarray(0, headCount), tail: memory.subarray(headBytes, headBytes + count) }
}

function read(point: string, path: string, places: io.ReadPlace[]): number[] | undefined {
  try {
    return io.readInto(point, path, places)
  } catch {
    return undefined
  }
}
