/** The stream of one reply: its text as it is written, then its end. */

import type { Coded } from '../../../shared/src/face/face-error.js'
import type { Source, Why } from '../events/stream.js'
import { Refusal } from '../problem.js'
import type { Ended, MessageTurn } from './message-turn.js'
import type { ReplyText } from './reply-text.js'

/** The events of one of the two APIs. */
export interface StreamForm {
  begin(): string
  text(text: string): string
  /** The text before does not belong to the reply that follows. */
  paragraph(): string
  end(ended: Ended): string
  fail(error: Coded): string
}

export class ReplySource implements Source {
  isComplete = false
  private hasBegun = false
  private outcome: { ended: Ended } | { error: Coded } | undefined
  private wake: () => void = () => undefined

  constructor(
    private readonly turn: MessageTurn,
    private readonly text: ReplyText,
    private readonly form: StreamForm,
  ) {
    turn.ended
      .then((ended) => {
        text.end(ended.reply)
        this.outcome = { ended }
      })
      .catch((error: Coded) => {
        this.outcome = { error }
      })
      .finally(() => this.wake())
  }

  /** For the text that comes in. */
  readonly onText = (): void => this.wake()

  start(wake: () => void): void {
    this.wake = wake
  }

  stop(): void {
    this.wake = () => undefined
  }

  next(): Buffer | undefined {
    if (this.isComplete) return undefined
    const { form, outcome } = this
    const events = this.hasBegun ? [] : [form.begin()]
    this.hasBegun = true
    for (const part of this.text.take())
      events.push(part.kind === 'text' ? form.text(part.text) : form.paragraph())
    if (outcome !== undefined) {
      events.push('ended' in outcome ? form.end(outcome.ended) : form.fail(outcome.error))
      this.isComplete = true
    }
    return events.length === 0 ? undefined : Buffer.from(events.join(''))
  }

  last(reason: Why, error: Coded | undefined): Buffer {
    const why = reason === 'slow' ? 'the client did not read the stream' : 'the server stops'
    return Buffer.from(
      this.form.fail(error ?? new Refusal('SERVER_BUSY', `${why}; the turn continues`, this.turn.later)),
    )
  }
}
