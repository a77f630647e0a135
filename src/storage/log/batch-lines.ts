/** The lines of one batch before they are written, and where in the log each will stand. */
import { frame } from './frame.js'

export class BatchLines {
  private readonly lines: Buffer[] = []

  /** `end`: of the log that the batch is for. */
  constructor(private end: number) {}

  /** Returns where the line of the record begins, and ends behind its LF. */
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
