/** The lines of a batch before the write, with the place of each in the log. */
import { frame } from './frame.js'

export class BatchLines {
  private readonly lines: Buffer[] = []

  /** `end`: the end of the log before the batch. */
  constructor(private end: number) {}

  /** Returns the byte range of the record's line, LF included. */
  add(record: object): { offset: number; end: number } {
    const line = frame(record)
    const offset = this.end
    this.lines.push(line)
    this.end += line.length
    return { offset, end: this.end }
  }

  get bytes(): Buffer {
    return this.lines.length === 1 ? (this.lines[0] as Buffer) : Buffer.concat(this.lines)
  }
}
