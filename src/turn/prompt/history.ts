/**
 * The conversation as a model is given it: from the log, since the last compaction. Errors for people are not in it.
 *
 * A turn that the model refused is left out, from its question on: the model, or a filter of its provider, would refuse the
 * same words again in every later request. Where somebody tries that very turn again, it is in.
 *
 * Invariant: every call of an assistant message has exactly one result, right after it, in the order of the calls. What
 * came in between (a notice, a message) comes after the results.
 */
import type { JsonObject, ModelMessage, ToolCall } from '../../provider/contract.js'
import type { CallRecord } from '../../session/fields.js'
import type { SessionRecord } from '../../session/records.js'
import type { Session } from '../../session/session.js'
import type { State } from '../../session/state.js'

/** What a conversation is read from. */
export type Readable = Pick<Session, 'state' | 'recordAt' | 'records' | 'text'>

/** Messages that belong together: a message of the user, or a response with its results. */
export interface Exchange {
  messages: ModelMessage[]
  /** Where it begins in the log. */
  seq: number
  /** Whether it is a message from a person or another agent. */
  isPrompt: boolean
}

export function conversation(session: Readable): ModelMessage[] {
  return exchanges(session).flatMap(({ messages }) => messages)
}

/** The summary of what was compacted, and then everything since. */
export function exchanges(session: Readable): Exchange[] {
  const { context_seq, context_offset } = session.state
  const compaction = compactionOf(session)
  const found: Exchange[] = []
  if (compaction !== undefined) {
    const content = session.text(compaction.content)
    found.push({ messages: [{ role: 'user', content }], seq: compaction.seq, isPrompt: false })
  }
  const gathering = new Gathering(found)
  for (const record of session.records({ seq: context_seq, offset: context_offset }))
    gathering.add(record, session)
  return gathering.close()
}

/** How many responses the latest compaction has left out. */
export function responsesBefore(session: Readable): number {
  return compactionOf(session)?.responses ?? 0
}

export function compactionOf(session: Readable): SessionRecord<'context.compacted'> | undefined {
  const at = session.state.compaction
  const record = at === null ? undefined : session.recordAt(at)
  return record?.kind === 'context.compacted' ? record : undefined
}

/** Puts records in the order that a model needs. */
class Gathering {
  private response: { exchange: Exchange; calls: ToolCall[]; results: Map<string, ModelMessage> } | undefined
  private said: { text: string; seq: number } | undefined
  /** The run whose mail was taken last. */
  private mailRun: string | undefined
  /** The latest run, with those that it continues, and where it begins; a compaction may have been in its middle. */
  private turn: { run_id: string; at: number }
  private refused: RefusedTurn | undefined

  constructor(private readonly found: Exchange[]) {
    this.turn = { run_id: '', at: found.length }
  }

  add(record: SessionRecord, session: Readable): void {
    switch (record.kind) {
      case 'run.started':
        this.begin(record)
        break
      case 'run.failed':
        if (record.error.type === 'refused') this.refuse(record)
        break
      case 'mail.delivered':
        // The result of a call is in that call's record.
        if (record.call_id === undefined) this.receive(record, session)
        break
      case 'message.user':
      case 'message.notice':
      case 'session.seeded':
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
        this.respond(
          record.seq,
          (record.calls ?? []).map((call) => toolCall(call, session)),
        )
        break
      case 'tool.finished':
        this.response?.results.set(record.call_id, {
          role: 'tool',
          call_id: record.call_id,
          name: record.tool,
          content: session.text(record.content),
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

  private take(exchange: Exchange): void {
    this.flushSaid()
    // Behind the response, whose results are gathered within its exchange.
    this.found.push(exchange)
  }

  /** Mails of one run are one message: providers give the latest message a place of its own. */
  private receive(record: SessionRecord<'mail.delivered'>, session: Readable): void {
    const content = mailText(record, session)
    const last = this.found.at(-1)
    const [message] = last?.messages ?? []
    if (this.mailRun === record.run_id && message?.role === 'user') message.content += `\n\n${content}`
    else this.take({ messages: [{ role: 'user', content }], seq: record.seq, isPrompt: true })
    this.mailRun = record.run_id
  }

  private respond(seq: number, calls: ToolCall[]): void {
    const said = this.said
    // A final response whose reply comes after it: logs were written so before there were tools.
    if (said === undefined && calls.length === 0) return
    this.said = undefined
    this.flushResponse()
    const message: ModelMessage = { role: 'assistant', content: said?.text ?? '', tool_calls: calls }
    const exchange = { messages: [message], seq: said?.seq ?? seq, isPrompt: false }
    this.found.push(exchange)
    if (calls.length > 0) this.response = { exchange, calls, results: new Map() }
  }

  /** The reply of an agent provider, or of a run before a fork, stands without a response. */
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

interface RefusedTurn {
  run_id: string
  exchanges: Exchange[]
  /** What stands in its place. */
  notice: Exchange[]
}

/** What the tools of that turn have done is done, though the turn is left out. */
/** In the place of a refused turn in which tools ran. */
export function refusedNotice(tools: string[]): string {
  return `[substrat] A turn is left out here. Its answer was refused after these tools had run: ${tools.join(', ')}. Look at what they have done before you do it again.`
}

const NO_RESULT = 'There is no result yet.'

function toolCall(call: CallRecord, session: Readable): ToolCall {
  const input =
    call.input_blob === undefined ? call.input : (JSON.parse(session.text(call.input_blob)) as JsonObject)
  return { call_id: call.call_id, name: call.name, input: input ?? {} }
}

/** The calls of the open run, with their inputs. */
export function openCalls(session: Readable): ToolCall[] {
  const at = session.state.run?.calls_at ?? null
  const record = at === null ? undefined : session.recordAt(at)
  return record?.kind === 'model.responded' ? (record.calls ?? []).map((call) => toolCall(call, session)) : []
}

/** What the open run, or the run that it continues, was asked. */
export function promptOf(session: Readable): string {
  return promptRecords(session)
    .map((record) =>
      record.kind === 'mail.delivered' ? mailText(record, session) : session.text(record.content),
    )
    .join('\n\n')
}

export function promptRecords(session: Readable): SessionRecord<'message.user' | 'mail.delivered'>[] {
  const records = (session.state.run?.prompts ?? []).map((at) => session.recordAt(at))
  return records.filter((record) => record.kind === 'message.user' || record.kind === 'mail.delivered')
}

/** A message as its recipient reads it: whose it is and what it answers, and then its words. */
function mailText(record: SessionRecord<'mail.delivered'>, session: Pick<Readable, 'text'>): string {
  const { from, from_path, mail_kind, reply_to, reminder_id } = record
  const content = session.text(record.content)
  if (reminder_id !== undefined) return `[reminder]\n${content}`
  if (from === 'operator') return content
  const about = reply_to === undefined ? '' : `, to ${reply_to}`
  return `[${mail_kind} ${record.message_id} from ${from_path ?? from}${about}]\n${content}`
}

/** What a model is told when its turn goes on by itself after it had begun to act; null where it had not. */
export function recoveryNotice({ run }: State): string | null {
  if (run === null || run.steps === 0) return null
  return '[substrat] The process that ran this turn was interrupted. The turn goes on by itself, from what was recorded.'
}
