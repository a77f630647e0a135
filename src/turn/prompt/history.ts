/**
 * The conversation that a model receives: built from the log since the last compaction, without errors meant for people.
 *
 * A refused turn is left out with its prompt: the model, or its provider's filter, would refuse the same words in every
 * later request. If the turn is tried again, it is included.
 *
 * Items that the service has refused once are left out for good: it would refuse each later request.
 *
 * Invariant: every call of an assistant message has exactly one result, right after the message, in the order of the calls.
 * A notice or message that arrived in between comes after the results.
 */
import type { JsonObject, ModelMessage, ToolCall } from '../../provider/contract.js'
import type { SessionRecord } from '../../session/records.js'
import type { State } from '../../session/state.js'
import { toolCall } from './calls.js'
import { mailText, type Readable } from './prompt-records.js'

/** Messages that belong together: a message of the user, a response with its results, or a fork's copied conversation. */
export interface Exchange {
  messages: ModelMessage[]
  /** The seq of its first record. */
  seq: number
  /** Whether it is a message from a person or another agent. */
  isPrompt: boolean
}

/** A shorter conversation that is tried before a record makes it this conversation. */
export interface Shortened {
  /** Replaces all records before `keeps`. */
  content: string
  keeps: { seq: number; offset: number }
  responses: number
}

export function conversation(session: Readable, shortened?: Shortened): ModelMessage[] {
  return exchanges(session, shortened).flatMap(({ messages }) => messages)
}

/** The latest compaction's summary, then all exchanges since. */
export function exchanges(session: Readable, shortened?: Shortened): Exchange[] {
  const { context_seq, context_offset } = session.state
  const compaction = compactionOf(session)
  const found: Exchange[] = []
  const content = shortened?.content ?? (compaction && session.text(compaction.content))
  if (content !== undefined)
    found.push({ messages: [{ role: 'user', content }], seq: compaction?.seq ?? 0, isPrompt: false })
  const gathering = new Gathering(found)
  const from = shortened?.keeps ?? { seq: context_seq, offset: context_offset }
  for (const record of session.recordsOfKinds(from, KINDS)) gathering.add(record, session)
  return gathering.close()
}

/** Number of responses that compaction has left out so far. */
export function responsesBefore(session: Readable, shortened?: Shortened): number {
  return shortened?.responses ?? compactionOf(session)?.responses ?? seedOf(session)?.responses ?? 0
}

function seedOf(session: Readable): SessionRecord<'session.seeded'> | undefined {
  const at = session.state.seed
  const record = at === null ? undefined : session.recordAt(at)
  return record?.kind === 'session.seeded' ? record : undefined
}

export function compactionOf(session: Readable): SessionRecord<'context.compacted'> | undefined {
  const at = session.state.compaction
  const record = at === null ? undefined : session.recordAt(at)
  return record?.kind === 'context.compacted' ? record : undefined
}

/** Half of a turn's records. The others are not parsed. */
const KINDS = [
  'run.started',
  'run.failed',
  'mail.delivered',
  'session.seeded',
  'message.user',
  'message.notice',
  'message.agent',
  'model.responded',
  'tool.edited',
  'tool.finished',
] as const

/** Collects records into exchanges, in the order that models require. */
class Gathering {
  private response: { exchange: Exchange; calls: ToolCall[]; results: Map<string, ModelMessage> } | undefined
  /** The arguments that a person chose for calls of the response. */
  private readonly edits = new Map<string, JsonObject>()
  private said: { text: string; seq: number } | undefined
  /** The run of the latest mail. */
  private mailRun: string | undefined
  /** The latest turn: its run, and the index of its first exchange. A compaction may have cut its beginning. */
  private turn: { run_id: string; at: number }
  private refused: RefusedTurn | undefined

  constructor(private readonly found: Exchange[]) {
    this.turn = { run_id: '', at: found.length }
  }

  add(record: SessionRecord<(typeof KINDS)[number]>, session: Readable): void {
    switch (record.kind) {
      case 'run.started':
        this.begin(record)
        break
      case 'run.failed':
        if (record.error.type === 'refused') this.refuse(record)
        break
      case 'mail.delivered':
        // A reply delivered as a call's result is in that call's `tool.finished`.
        if (record.call_id === undefined) this.receive(record, session)
        break
      case 'session.seeded':
        this.take(seedExchange(record, session))
        break
      case 'message.user':
      case 'message.notice':
        this.take({
          messages: [{ role: 'user', content: session.text(record.content) }],
          seq: record.seq,
          isPrompt: record.kind === 'message.user',
        })
        break
      case 'message.agent':
        this.flushSaid()
        this.said = { text: session.text(record.content), seq: record.seq }
        break
      case 'model.responded':
        if (record.items_refused === true) this.dropItems()
        this.respond(
          record.seq,
          (record.calls ?? []).map((call) => toolCall(call, session)),
          itemsOf(record, session),
        )
        break
      case 'tool.edited':
        this.edits.set(record.call_id, toolCall({ ...record, name: record.tool }, session).input)
        break
      case 'tool.finished':
        this.response?.results.set(record.call_id, {
          role: 'tool',
          call_id: record.call_id,
          name: record.tool,
          content: `${editNotice(this.edits.get(record.call_id))}${session.text(record.content)}`,
          is_error: record.is_error,
        })
        break
    }
  }

  private begin({ run_id, continues }: SessionRecord<'run.started'>): void {
    this.flushSaid()
    const { refused } = this
    if (continues !== undefined && continues === refused?.run_id) {
      const at = this.found.length - refused.notice.length
      this.found.splice(at, refused.notice.length, ...refused.exchanges)
      this.turn = { run_id, at }
    } else this.turn = { run_id, at: continues === this.turn.run_id ? this.turn.at : this.found.length }
    this.refused = undefined
  }

  private refuse({ run_id, seq }: SessionRecord<'run.failed'>): void {
    this.flushSaid()
    this.flushResponse()
    const exchanges = this.found.splice(this.turn.at)
    const tools = exchanges.flatMap(({ messages }) => messages).filter((message) => message.role === 'tool')
    const content = refusedNotice([...new Set(tools.map(({ name }) => name))])
    const notice: Exchange[] =
      tools.length === 0 ? [] : [{ messages: [{ role: 'user', content }], seq, isPrompt: false }]
    this.found.push(...notice)
    this.refused = { run_id, exchanges, notice }
  }

  close(): Exchange[] {
    this.flushSaid()
    this.flushResponse()
    return this.found
  }

  /** Also those of a refused turn, which may be tried again. */
  private dropItems(): void {
    for (const { messages } of [...this.found, ...(this.refused?.exchanges ?? [])])
      for (const message of messages) if (message.role === 'assistant') delete message.items
  }

  private take(exchange: Exchange): void {
    this.flushSaid()
    // An open response stays open: its results go into its own exchange, before this one.
    this.found.push(exchange)
  }

  /** Joins the mail of one run into one message, because providers treat the latest message specially. */
  private receive(record: SessionRecord<'mail.delivered'>, session: Readable): void {
    const content = mailText(record, session)
    const last = this.found.at(-1)
    const [message] = last?.messages ?? []
    if (this.mailRun === record.run_id && message?.role === 'user') message.content += `\n\n${content}`
    else this.take({ messages: [{ role: 'user', content }], seq: record.seq, isPrompt: true })
    this.mailRun = record.run_id
  }

  private respond(seq: number, calls: ToolCall[], items: JsonObject[]): void {
    const said = this.said
    // A final response without a reply: in logs from before there were tools, the reply comes after it.
    if (said === undefined && calls.length === 0) return
    this.said = undefined
    this.flushResponse()
    this.edits.clear()
    const message: ModelMessage = {
      role: 'assistant',
      content: said?.text ?? '',
      tool_calls: calls,
      ...(items.length === 0 ? {} : { items }),
    }
    const exchange = { messages: [message], seq: said?.seq ?? seq, isPrompt: false }
    this.found.push(exchange)
    if (calls.length > 0) this.response = { exchange, calls, results: new Map() }
  }

  /** Adds a reply that has no `model.responded` record: an agent provider's, or one from before a fork. */
  private flushSaid(): void {
    const said = this.said
    if (said === undefined) return
    this.said = undefined
    this.flushResponse()
    this.found.push({
      messages: [{ role: 'assistant', content: said.text, tool_calls: [] }],
      seq: said.seq,
      isPrompt: false,
    })
  }

  private flushResponse(): void {
    const { response } = this
    if (response === undefined) return
    this.response = undefined
    for (const { call_id, name } of response.calls) {
      const missing: ModelMessage = { role: 'tool', call_id, name, content: NO_RESULT, is_error: true }
      response.exchange.messages.push(response.results.get(call_id) ?? missing)
    }
  }
}

/** All of a seed's messages have one place in the log, so compaction leaves out all or none. */
function seedExchange(record: SessionRecord<'session.seeded'>, session: Readable): Exchange {
  const { seq, content, conversation } = record
  return conversation === undefined
    ? { messages: [{ role: 'user', content: session.text(content) }], seq, isPrompt: false }
    : { messages: JSON.parse(session.text(conversation)) as ModelMessage[], seq, isPrompt: true }
}

interface RefusedTurn {
  run_id: string
  exchanges: Exchange[]
  /** The exchange that replaces them; empty if no tool ran. */
  notice: Exchange[]
}

/** Replaces a refused turn in which tools ran: their effects remain although the turn is left out. */
export function refusedNotice(tools: string[]): string {
  return `[substrat] A turn is left out here. Its answer was refused after these tools had run: ${tools.join(', ')}. Check what they did before you do it again.`
}

/** The model remembers the call with its own arguments, so the result says what ran. */
function editNotice(input: JsonObject | undefined): string {
  if (input === undefined) return ''
  return `[substrat] The operator changed the arguments of this call before it ran: ${JSON.stringify(input)}\n`
}

const NO_RESULT = 'There is no result yet.'

/**
 * An agent never changes its provider, and a fork with another provider copies no items. So they go back to the provider that
 * yielded them, which checks that its settings still lead to the same server.
 */
export function itemsOf(
  record: Pick<SessionRecord<'model.responded'>, 'items' | 'items_blob'>,
  session: Pick<Readable, 'text'>,
): JsonObject[] {
  const { items, items_blob } = record
  return items_blob === undefined ? (items ?? []) : (JSON.parse(session.text(items_blob)) as JsonObject[])
}

/** The notice to a model whose turn continues after an interruption; null if the model had not called a tool yet. */
export function recoveryNotice({ run }: State): string | null {
  if (run === null || run.steps === 0) return null
  return '[substrat] The process that ran this turn was interrupted. The turn continues from its last recorded step.'
}
