/**
 * Folds the records of an agent's log into the events of a conversation, and knows the outcome of each message.
 *
 * Invariants: it is fed every record once and in order, so two processes that read the same log give a tool call the same id.
 * A message is found by its key, also if another process ran it.
 */
import type { SessionRecord } from '../../shared/src/face/core.js'

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

type Content = Extract<SessionRecord, { kind: 'message.agent' }>['content']
type Blob = Exclude<Content, string>

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

  take(record: SessionRecord): Event[] {
    switch (record.kind) {
      case 'run.started':
        this.begin(record)
        return []
      case 'message.user':
        return record.origin === 'operator'
          ? [
              {
                type: 'user',
                id: record.message_id,
                key: this.runs.get(record.run_id)?.key,
                text: this.text(record.content),
              },
            ]
          : []
      case 'mail.delivered':
        return this.deliver(record)
      case 'message.agent':
        return this.say(record.run_id, this.text(record.content))
      case 'model.failed':
        // The text of a failed attempt is not part of the next message.
        this.parts.set(record.run_id, this.part(record.run_id) + 1)
        return []
      case 'model.responded':
        this.isCut = record.stop === 'length'
        return (record.calls ?? []).map(({ call_id, name, input, input_blob }) =>
          this.call(record.run_id, call_id, `${record.seq}.${call_id}`, {
            tool: name,
            input: input ?? this.json(input_blob),
          }),
        )
      case 'tool.started':
        if (record.input === undefined && record.input_blob === undefined)
          return [{ type: 'progress', id: this.idOf(record), status: 'in_progress' }]
        return [this.programCall(record)]
      case 'program.tool_started':
        return [this.programCall(record)]
      case 'tool.finished':
      case 'program.tool_finished': {
        const status = record.is_error ? 'failed' : 'completed'
        return [{ type: 'progress', id: this.idOf(record), status, output: this.text(record.content) }]
      }
      case 'tool.deferred':
        return [
          {
            type: 'progress',
            id: this.idOf(record),
            status: 'in_progress',
            output: this.text(record.content),
          },
        ]
      case 'run.waiting':
        return this.park(record)
      default:
        this.change(record)
        return []
    }
  }

  /** The records that continue and end runs. */
  private change(record: SessionRecord): void {
    switch (record.kind) {
      case 'run.resumed':
        this.wait = undefined
        return
      case 'token.consumed':
        this.consume(record)
        return
      case 'token.expired':
        this.wait = undefined
        return
      case 'run.completed':
        this.end(record.run_id, { is: 'completed', isCut: this.isCut })
        return
      case 'run.failed':
        this.end(record.run_id, { is: 'failed', ...record.error })
        return
      case 'run.cancelled':
        this.end(record.run_id, { is: 'cancelled', reason: record.reason })
        return
      case 'run.interrupted':
        this.end(record.run_id, { is: 'interrupted', reason: record.reason })
    }
  }

  private consume({ seq, run_id: runId, key }: Extract<SessionRecord, { kind: 'token.consumed' }>): void {
    const run = this.runs.get(runId)
    if (key !== undefined && run !== undefined && seq >= this.ownFrom)
      this.answers.set(key.normalize('NFC'), run)
    this.wait = undefined
  }

  private begin({
    seq,
    run_id: runId,
    key,
    continues,
  }: Extract<SessionRecord, { kind: 'run.started' }>): void {
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

  private deliver(record: Extract<SessionRecord, { kind: 'mail.delivered' }>): Event[] {
    const { run_id: runId, message_id: id, call_id: callId, from, from_path: path = from, content } = record
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

  private park(record: Extract<SessionRecord, { kind: 'run.waiting' }>): Event[] {
    const { run_id: runId, asks = [] } = record
    const isNew = this.wait?.runId !== runId
    const question = asks.map(({ input }) => Object(input).question).find((text) => typeof text === 'string')
    this.wait = {
      kind: record.wait,
      runId,
      tokenId: record.token_id,
      calls: asks.map(({ call_id }) => this.idOf({ run_id: runId, call_id })),
      notBefore: record.not_before,
    }
    // The record is written again with each new token.
    return question !== undefined && record.wait === 'input' && isNew ? this.say(runId, question) : []
  }

  private programCall(
    record: Extract<SessionRecord, { kind: 'tool.started' | 'program.tool_started' }>,
  ): Event {
    const { run_id: runId, call_id: callId, tool, input, input_blob: blob } = record
    const given = { tool, input: input ?? this.json(blob) }
    return this.call(runId, callId, `${record.seq}.${callId}`, given, true)
  }

  private call(runId: string, callId: string, id: string, given: Omit<Call, 'id'>, isRunning = false): Event {
    this.calls.set(`${runId} ${callId}`, id)
    return { type: 'call', call: { id, ...given }, isRunning }
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
