/**
 * Whether a turn, as the program's own store has it, needed a substrat that was dead. No words are looked at: an error of a
 * tool that substrat has not heard of, and a call of substrat's tools that it has not answered, came after its death, or
 * may have. A turn that went well is never taken for one.
 */
import type { HeardOfTurn } from 'substrat/provider'

export class Unheard {
  private readonly finished: Set<string>
  private answered = 0
  private hasError = false

  /** `heard`: undefined where the holder lives, or does not say; then nothing is missing. */
  constructor(private readonly heard: HeardOfTurn | undefined) {
    this.finished = new Set(heard?.finished)
  }

  /** The result of one of the program's own tools. */
  result(callId: string, isError: boolean): void {
    if (isError && !this.finished.has(callId)) this.hasError = true
  }

  /** The result of one of substrat's tools. */
  answer(): void {
    this.answered += 1
  }

  get isAny(): boolean {
    return this.heard !== undefined && (this.hasError || this.answered > this.heard.answered)
  }
}
