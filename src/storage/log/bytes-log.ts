import { LogReader } from './reader.js'

/** A log in memory, such as one that was imported. */
export class BytesLog extends LogReader {
  constructor(
    /** Names the log for a person. */
    readonly path: string,
    private readonly bytes: Buffer,
  ) {
    super()
  }

  size(): number {
    return this.bytes.length
  }

  read(from: number, to: number): Buffer {
    return this.bytes.subarray(from, Math.min(to, this.bytes.length))
  }
}
