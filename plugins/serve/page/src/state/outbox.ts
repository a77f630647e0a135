/**
 * The message that the reader writes to an agent. Its key is made once, when it is first sent. If the connection is lost, the
 * outcome is unknown: the same message is then sent again with the same key, so that it is delivered once. A refused message
 * keeps its key until the reader changes it. The tab keeps it across a reload.
 */
import { call, newKey } from '../api/client.js'
import { Problem } from '../api/problem.js'
import { type OptionTexts, optionsBody } from '../model/message-options.js'
import { toldOf } from '../model/problem-words.js'
import { Store } from './store.js'

export interface Draft {
  text: string
  /** The key, once the message was sent. A message with another text needs another key. */
  key: string | null
  state: 'writing' | 'sending' | 'unknown' | 'refused'
  /** Why the server refused the message. */
  why?: string
  /** Its options. Absent in a draft that an earlier page kept. */
  options?: OptionTexts
}

const EMPTY: Draft = { text: '', key: null, state: 'writing', options: {} }
const RETRY_MS = 1500

const outboxes = new Map<string, Outbox>()

export function outboxOf(agentId: string): Outbox {
  const known = outboxes.get(agentId) ?? new Outbox(agentId)
  outboxes.set(agentId, known)
  return known
}

export class Outbox {
  readonly draft: Store<Draft>

  constructor(private readonly agentId: string) {
    this.draft = new Store(this.saved())
    if (this.isUnderWay) void this.deliver().catch(() => undefined)
  }

  write(text: string): void {
    const { options } = this.draft.value
    if (!this.isUnderWay) this.save({ text, options, key: null, state: 'writing' })
  }

  /** One option of the message; an empty text asks for nothing. */
  ask(name: string, value: string): void {
    const { text, options } = this.draft.value
    if (!this.isUnderWay)
      this.save({ text, options: { ...options, [name]: value }, key: null, state: 'writing' })
  }

  /** Resolves when the message is durable. Rejects if the server refused it: the text stays, and can be sent again. */
  async send(): Promise<void> {
    const { text, key, options } = this.draft.value
    if (text.trim() === '' || this.isUnderWay) return
    this.save({ text, options, key: key ?? newKey(), state: 'sending' })
    await this.deliver()
  }

  private async deliver(): Promise<void> {
    for (;;) {
      const { text, key, options = {} } = this.draft.value
      if (key === null) return
      try {
        await call('sendMessage', {
          agent: this.agentId,
          body: { ...optionsBody(options), content: text, if_busy: 'queue', if_waiting: 'queue' },
          key,
        })
        return this.save(EMPTY)
      } catch (error) {
        if (!(error instanceof Problem) || !error.isTemporary) {
          this.save({ text, key, state: 'refused', options, why: toldOf(error).text })
          throw error
        }
        this.save({ text, key, state: 'unknown', options })
        await new Promise((resolve) => setTimeout(resolve, RETRY_MS))
      }
    }
  }

  private get isUnderWay(): boolean {
    return this.draft.value.state === 'sending' || this.draft.value.state === 'unknown'
  }

  private save(draft: Draft): void {
    sessionStorage.setItem(this.storageKey, JSON.stringify(draft))
    this.draft.set(draft)
  }

  private saved(): Draft {
    const text = sessionStorage.getItem(this.storageKey)
    return text === null ? EMPTY : (JSON.parse(text) as Draft)
  }

  private get storageKey(): string {
    return `substrat-draft-${this.agentId}`
  }
}
