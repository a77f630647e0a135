/**
 * Decides from the program's own store whether a turn needed a substrat that was dead.
 *
 * Two facts show it: a tool error that substrat has not recorded, and an answered call of substrat's tools that
 * substrat did not answer. Both can have followed its death. Error texts do not count. A turn without such a result
 * never counts as one.
 */
import type { HeardOfTurn } from 'substrat/provider'

export class Unheard {
  private readonly finished: Set<string>
  private answered = 0
  private hasError = false

  /** `heard`: undefined if substrat lives or does not say; then nothing is missing. */
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
