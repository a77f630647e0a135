/**
 * Folds the entries of an agent's log into the events of a conversation, and knows the outcome of each message.
 *
 * Invariants: it is fed every entry once and in order, so two processes that read the same log give a tool call the same id.
 * A message is found by its key, also if another process ran it.
 */
import type { Entry, EntryOf } from '../../shared/src/face/core.js'

/** The end of a run, or the reason why it does not continue by itself. */
export type End =
  | { is: 'completed'; isCut: boolean }
  | { is: 'failed'; type: string; message: string }
  | { is: 'cancelled'; reason: string }
  | { is: 'interrupted'; reason: string }

export interface Run {
  /** The latest attempt. */
  id: string
  /** The key of its message. */
  key?: string
  end?: End
}

export interface Wait {
  kind: string
  runId: string
  tokenId: string | undefined
  /** The ids of the calls, as the events name them. */
  calls: string[]
  notBefore: string | undefined
}

export interface Call {
  id: string
  tool: string
  input: unknown
}

export type Event =
  | { type: 'user'; id: string; key: string | undefined; text: string }
  /** A whole message. `part` tells the messages of a run apart. */
  | { type: 'agent'; runId: string; part: number; text: string }
  | { type: 'call'; call: Call; isRunning: boolean }
  | { type: 'progress'; id: string; status: 'in_progress' | 'completed' | 'failed'; output?: string }

type Content = EntryOf<'reply'>['content']
type Blob = Exclude<Content, string>
type Asked = Pick<EntryOf<'call'>, 'call_id' | 'tool' | 'input' | 'input_blob'>

export class History {
  private readonly runs = new Map<string, Run>()
  private readonly keys = new Map<string, Run>()
  /** By the id of the mail that a run delivered. */
  private readonly mail = new Map<string, Run>()
  private readonly answers = new Map<string, Run>()
  private readonly calls = new Map<string, string>()
  private readonly parts = new Map<string, number>()
  private isCut = false
  /** The wait of the latest run, while it is open. */
  wait: Wait | undefined
  /** The run that is open. */
  open: string | undefined

  /**
   * `text` reads a blob. `ownFrom`: the first record that the agent itself has; the keys before it were another agent's.
   */
  constructor(
    private readonly text: (content: Content) => string,
    private readonly ownFrom: number,
  ) {}

  runOfKey(key: string): Run | undefined {
    return this.keys.get(key.normalize('NFC'))
  }

  runOfMail(messageId: string): Run | undefined {
    return this.mail.get(messageId)
  }

  /** The run that continued with the answer of this key. */
  runOfAnswer(key: string): Run | undefined {
    return this.answers.get(key.normalize('NFC'))
  }

  /** The number of the message that the run says next. */
  part(runId: string): number {
    return this.parts.get(runId) ?? 0
  }

  take(entry: Entry): Event[] {
    switch (entry.type) {
      case 'turn':
        this.begin(entry)
        return []
      case 'prompt': {
        const { message_id: id, run_id: runId, origin, content } = entry
        const key = this.runs.get(runId)?.key
        return origin === 'operator' ? [{ type: 'user', id, key, text: this.text(content) }] : []
      }
      case 'mail':
        return this.deliver(entry)
      case 'reply':
        return this.say(entry.run_id, this.text(entry.content))
      case 'failed_request':
        // The text of a failed attempt is not part of the next message.
        this.parts.set(entry.run_id, this.part(entry.run_id) + 1)
        return []
      case 'response':
        this.isCut = entry.stop === 'length'
        return (entry.calls ?? []).map((call) => this.call(entry, { tool: call.name, ...call }, false))
      case 'call_start':
        return [{ type: 'progress', id: this.idOf(entry), status: 'in_progress' }]
      case 'call':
        return [this.call(entry, entry, true)]
      case 'result': {
        const status = entry.is_error ? 'failed' : 'completed'
        return [{ type: 'progress', id: this.idOf(entry), status, output: this.text(entry.content) }]
      }
      case 'deferral': {
        const output = this.text(entry.content)
        return [{ type: 'progress', id: this.idOf(entry), status: 'in_progress', output }]
      }
      case 'wait':
        return this.park(entry)
      default:
        this.change(entry)
        return []
    }
  }

  /** The entries that continue and end runs. */
  private change(entry: Entry): void {
    switch (entry.type) {
      case 'resumption':
      case 'expiry':
        this.wait = undefined
        return
      case 'decision':
        this.consume(entry)
        return
      case 'completion':
        this.end(entry.run_id, { is: 'completed', isCut: this.isCut })
        return
      case 'failure':
        this.end(entry.run_id, { is: 'failed', ...entry.error })
        return
      case 'stop': {
        const { run_id, how, reason } = entry
        this.end(run_id, { is: how === 'interrupted' ? how : 'cancelled', reason })
      }
    }
  }

  private consume({ seq, run_id: runId, key }: EntryOf<'decision'>): void {
    const run = this.runs.get(runId)
    if (key !== undefined && run !== undefined && seq >= this.ownFrom)
      this.answers.set(key.normalize('NFC'), run)
    this.wait = undefined
  }

  private begin({ seq, run_id: runId, key, continues }: EntryOf<'turn'>): void {
    const before = continues === undefined ? undefined : this.runs.get(continues)
    const run = before ?? { id: runId }
    run.id = runId
    delete run.end
    this.runs.set(runId, run)
    if (key !== undefined && seq >= this.ownFrom) {
      run.key = key.normalize('NFC')
      this.keys.set(run.key, run)
    }
    this.open = runId
    this.isCut = false
  }

  private end(runId: string, end: End): void {
    const run = this.runs.get(runId)
    if (run !== undefined) run.end = end
    if (this.wait?.runId === runId) this.wait = undefined
    if (this.open === runId) this.open = undefined
  }

  private deliver(mail: EntryOf<'mail'>): Event[] {
    const { run_id: runId, message_id: id, call_id: callId, from, from_path: path = from, content } = mail
    const run = this.runs.get(runId) ?? { id: runId }
    this.runs.set(runId, run)
    this.mail.set(id, run)
    this.open = runId
    if (callId !== undefined) return []
    const text = this.text(content)
    return [{ type: 'user', id, key: undefined, text: from === 'operator' ? text : `${path}: ${text}` }]
  }

  private say(runId: string, text: string): Event[] {
    const part = this.part(runId)
    this.parts.set(runId, part + 1)
    return text === '' ? [] : [{ type: 'agent', runId, part, text }]
  }

  private park(entry: EntryOf<'wait'>): Event[] {
    const { run_id: runId, asks = [] } = entry
    const isNew = this.wait?.runId !== runId
    const question = asks.map(({ input }) => Object(input).question).find((text) => typeof text === 'string')
    this.wait = {
      kind: entry.wait,
      runId,
      tokenId: entry.token_id,
      calls: asks.map(({ call_id }) => this.idOf({ run_id: runId, call_id })),
      notBefore: entry.not_before,
    }
    // The record is written again with each new token.
    return question !== undefined && entry.wait === 'input' && isNew ? this.say(runId, question) : []
  }

  private call({ seq, run_id: runId }: EntryOf<'response' | 'call'>, call: Asked, isRunning: boolean): Event {
    const { call_id: callId, tool, input = this.json(call.input_blob) } = call
    const id = `${seq}.${callId}`
    this.calls.set(`${runId} ${callId}`, id)
    return { type: 'call', call: { id, tool, input }, isRunning }
  }

  /** Call ids are unique in one response of a model, so the id of an event also names the record of that response. */
  private idOf({ run_id: runId, call_id: callId }: { run_id: string; call_id: string }): string {
    return this.calls.get(`${runId} ${callId}`) ?? `${runId}.${callId}`
  }

  private json(blob: Blob | undefined): unknown {
    if (blob === undefined) return {}
    try {
      return JSON.parse(this.text(blob))
    } catch {
      return {}
    }
  }
}
