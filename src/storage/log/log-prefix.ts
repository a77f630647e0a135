import { LogReader } from './reader.js'

/** The beginning of another log, which stays open as long as that log. */
export class LogPrefix extends LogReader {
  constructor(
    private readonly log: LogReader,
    private readonly end: number,
  ) {
    super()
  }

  get path(): string {
    return this.log.path
  }

  size(): number {
    return Math.min(this.end, this.log.size())
  }

  read(from: number, to: number): Buffer {
    return this.log.read(from, Math.min(to, this.size()))
  }
}
