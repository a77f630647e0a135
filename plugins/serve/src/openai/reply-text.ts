/**
 * The text of a turn as it is written, which ends with the durable reply. A client cannot take back what it was sent: text before a
 * tool call, or of a request that failed, stays as a paragraph of its own.
 */
import type { StreamLine } from '../../../shared/src/face/output.js'

export type Part = { kind: 'text'; text: string } | { kind: 'paragraph' }

/** After these records, new text is not a continuation of the text before. */
const BOUNDARIES = new Set([
  'run.started',
  'run.resumed',
  'model.requested',
  'model.failed',
  'message.agent',
  'tool.started',
  'program.tool_started',
])

/** Text that the client has not taken. Text beyond this limit is not sent live: the client gets it with the reply. */
const WAITING_CHARACTERS_MAX = 64 * 1024

export class ReplyText {
  private parts: Part[] = []
  private waiting = 0
  /** The latest paragraph, as far as it was given to the client. */
  private paragraph = ''
  private isNew = false
  /** Whether the text since the last boundary is not given to the client, because its beginning is missing or it is too long. */
  private isMuted = true

  constructor(private readonly wake: () => void) {}

  add({ kind, partial, content }: StreamLine): void {
    if (partial !== true) {
      if (!BOUNDARIES.has(kind)) return
      this.isNew = true
      this.isMuted = false
    } else if (!this.isMuted && typeof content === 'string' && content !== '') {
      if (this.waiting > WAITING_CHARACTERS_MAX) this.isMuted = true
      else this.say(content)
    }
  }

  /** The rest of the reply. */
  end(reply: string): void {
    if (!reply.startsWith(this.paragraph)) this.startParagraph()
    const rest = reply.slice(this.paragraph.length)
    if (rest === '') return
    this.isNew = false
    this.say(rest)
  }

  take(): Part[] {
    const { parts } = this
    this.parts = []
    this.waiting = 0
    return parts
  }

  private say(text: string): void {
    if (this.isNew) this.startParagraph()
    this.paragraph += text
    this.waiting += text.length
    this.parts.push({ kind: 'text', text })
    this.wake()
  }

  private startParagraph(): void {
    this.isNew = false
    if (this.paragraph === '') return
    this.paragraph = ''
    this.parts.push({ kind: 'paragraph' })
  }
}
