import { writeSync } from 'node:fs'
import { uptimeMs } from './uptime.js'

export const SILENT_MS = 1500
export const CONNECTING = 'it has not accepted the connection yet'
const CONTROLS = /\p{Cc}+/gu

/** The caller of a statement blocks until the answer is there, so nothing else in this process can say what the command waits for. */
export class SlowNote {
  private readonly sinceMs = performance.now()
  private isSaid = false

  constructor(private readonly url: string) {}

  /** Says it on stderr, once, if the statement has waited for a while. `untilMs`: when it stops (`uptimeMs`). */
  look(why: string, untilMs: number): void {
    if (this.isSaid || performance.now() - this.sinceMs < SILENT_MS) return
    this.isSaid = true
    const seconds = Math.max(1, Math.ceil((untilMs - uptimeMs()) / 1000))
    const text = `waiting up to ${seconds} s for the database at ${this.url}: ${why}`
    try {
      writeSync(2, `substrat: ${text.replaceAll(CONTROLS, ' ')}\n`)
    } catch {
      // stderr is closed, or a pipe that is full.
    }
  }
}
