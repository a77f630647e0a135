/** Limits how long codex can be offline: codex itself tries to reconnect forever. */
import type { JsonObject } from 'substrat/provider'
import { failure } from '../../shared/src/failure.js'
import { textOf } from '../../shared/src/program/json.js'

export class OfflineClock {
  private readonly controller = new AbortController()
  private timer: NodeJS.Timeout | undefined
  private said = ''

  constructor(private readonly timeoutMs: number) {}

  get signal(): AbortSignal {
    return this.controller.signal
  }

  /** The clock runs from the first attempt to reconnect to the next message of any other kind. */
  hear({ type, message }: JsonObject): void {
    const text = type === 'error' ? textOf(message) : undefined
    if (text?.startsWith('Reconnecting') !== true) {
      this.stop()
      return
    }
    this.said = text
    this.timer ??= setTimeout(() => this.controller.abort(), this.timeoutMs)
  }

  stop(): void {
    clearTimeout(this.timer)
    this.timer = undefined
  }

  throwIfOver(): void {
    if (!this.signal.aborted) return
    const seconds = this.timeoutMs / 1000
    throw failure('unreachable', `codex has had no connection for ${seconds} s: ${this.said}`)
  }
}
