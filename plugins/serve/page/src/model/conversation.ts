/**
 * The conversation of an agent, from its records. A tool call is one entry: its start, its end and its output are one thing to a
 * reader.
 */
import { causeOf, WHY_STOPPED } from 'substrat/reasons'
import type { Content, RecordOf, SessionRecord } from '../api/types.js'
import { reasoningText, textOf } from './content.js'
import { clockText, durationText } from './time.js'
import { DECISION_WORDS, inputText, type Tone, WAIT_WORDS } from './words.js'

export type Entry =
  | { type: 'message'; seq: number; at: string; from: 'you' | 'agent' | 'other'; who: string; text: string }
  | { type: 'reasoning'; seq: number; at: string; text: string; bytes: number }
  | ToolEntry
  | { type: 'event'; seq: number; at: string; tone: Tone; text: string; detail?: string }

export interface ToolEntry {
  type: 'tool'
  seq: number
  at: string
  tool: string
  summary: string
  input: Record<string, unknown> | undefined
  state: 'asked' | 'running' | 'done' | 'failed' | 'elsewhere'
  output: string
  tookMs: number | undefined
}

export function conversationOf(records: readonly SessionRecord[]): Entry[] {
  const conversation = new Conversation()
  for (const record of records) conversation.add(record)
  return conversation.entries
}

class Conversation {
  readonly entries: Entry[] = []
  /** By call id: the latest call with it, since ids are unique only in one response. */
  private readonly tools = new Map<string, ToolEntry & { startedAt?: string }>()

  add(record: SessionRecord): void {
    switch (record.kind) {
      case 'message.user':
        this.say(
          record,
          record.origin === 'operator' ? 'you' : 'other',
          record.origin === 'operator' ? 'you' : 'substrat',
        )
        break
      case 'mail.delivered':
        if (record.call_id === undefined) this.addMail(record)
        break
      case 'message.agent':
        this.say(record, 'agent', 'agent')
        break
      case 'message.notice':
        this.say(record, 'other', 'substrat')
        break
      case 'model.responded':
        this.addResponse(record)
        break
      case 'tool.started':
      case 'program.tool_started':
        this.start(record)
        break
      case 'tool.finished':
      case 'program.tool_finished':
        this.finish(record)
        break
      case 'tool.deferred':
        this.defer(record)
        break
      default: {
        const event = eventOf(record)
        if (event !== undefined) this.addEvent(record, event)
      }
    }
  }

  private say(
    record: { seq: number; ts: string; content: Content },
    from: 'you' | 'agent' | 'other',
    who: string,
  ): void {
    this.entries.push({
      type: 'message',
      seq: record.seq,
      at: record.ts,
      from,
      who,
      text: textOf(record.content),
    })
  }

  /** A wait that is begun again, for example with a new token, is one event to a reader. */
  private addEvent({ seq, ts }: SessionRecord, event: Event): void {
    const last = this.entries.at(-1)
    if (last?.type === 'event' && last.text === event.text) return
    this.entries.push({ type: 'event', seq, at: ts, ...event })
  }

  private addMail(record: RecordOf<'mail.delivered'>): void {
    const { from, from_path: path, mail_kind: kind, reminder_id: reminder } = record
    const sender = from === 'operator' ? 'you' : (path ?? from.slice(0, 8))
    const who = reminder === undefined ? sender : 'reminder'
    this.say(record, from === 'operator' ? 'you' : 'other', kind === 'request' ? who : `${who} (${kind})`)
  }

  private addResponse({ seq, ts, items, items_blob: blob, calls = [] }: RecordOf<'model.responded'>): void {
    const bytes = blob?.bytes ?? (items === undefined ? 0 : JSON.stringify(items).length)
    if (bytes > 0)
      this.entries.push({ type: 'reasoning', seq, at: ts, text: reasoningText(items ?? []), bytes })
    for (const { call_id: id, name, input } of calls)
      this.addTool(id, { seq, at: ts, tool: name, input, state: 'asked' })
  }

  private addTool(id: string, given: Pick<ToolEntry, 'seq' | 'at' | 'tool' | 'input' | 'state'>): void {
    const entry = {
      type: 'tool' as const,
      ...given,
      summary: inputText(given.input),
      output: '',
      tookMs: undefined,
    }
    this.tools.set(id, entry)
    this.entries.push(entry)
  }

  private start(record: RecordOf<'tool.started'> | RecordOf<'program.tool_started'>): void {
    const { call_id: id, seq, ts: at, tool, input } = record
    const asked = this.tools.get(id)
    if (asked === undefined || record.kind === 'program.tool_started' || input !== undefined)
      this.addTool(id, { seq, at, tool, input, state: 'running' })
    else Object.assign(asked, { state: 'running', at })
  }

  private finish(record: RecordOf<'tool.finished'> | RecordOf<'program.tool_finished'>): void {
    const { call_id: id, seq, ts: at, tool, content, is_error: isError } = record
    if (!this.tools.has(id)) this.addTool(id, { seq, at, tool, input: undefined, state: 'running' })
    const entry = this.tools.get(id)
    if (entry === undefined) return
    const tookMs = entry.state === 'running' ? Date.parse(at) - Date.parse(entry.at) : undefined
    Object.assign(entry, { state: isError ? 'failed' : 'done', output: textOf(content), tookMs })
  }

  private defer({ call_id: id, content }: RecordOf<'tool.deferred'>): void {
    const entry = this.tools.get(id)
    if (entry !== undefined) Object.assign(entry, { state: 'elsewhere', output: textOf(content) })
  }
}

interface Event {
  tone: Tone
  text: string
  detail?: string
}

/** Undefined for records that tell a reader of the conversation nothing. */
function eventOf(record: SessionRecord): Event | undefined {
  switch (record.kind) {
    case 'session.created':
      return { tone: 'calm', text: `Created with the provider ${record.provider}` }
    case 'session.terminated':
      return { tone: 'calm', text: 'Terminated' }
    case 'session.configured':
      return record.hold === undefined
        ? undefined
        : { tone: 'calm', text: record.hold ? 'Put on hold' : 'No longer on hold' }
    case 'session.suspended':
      return record.reason === 'requested' ? { tone: 'calm', text: 'Suspended on request' } : undefined
    case 'run.started':
      return record.continues === undefined
        ? undefined
        : { tone: 'run', text: `Continued${record.auto === true ? ' automatically' : ''}` }
    case 'run.resumed':
      return record.token_id !== undefined
        ? undefined
        : { tone: 'run', text: `Continued${record.auto ? ` automatically, attempt ${record.attempt}` : ''}` }
    case 'run.waiting':
      return waitingEvent(record)
    case 'token.consumed':
      return { tone: 'good', text: `Decision: ${DECISION_WORDS[record.decision]}` }
    case 'tool.edited':
      return {
        tone: 'good',
        text: `You changed the arguments of ${record.tool}`,
        detail: JSON.stringify(record.input ?? {}, null, 2),
      }
    case 'wait.answered':
      return textOf(record.content) === '' ? undefined : { tone: 'good', text: textOf(record.content) }
    case 'run.interrupted':
      return { tone: 'bad', text: `Interrupted: ${WHY_STOPPED[record.reason]}` }
    case 'run.cancelled':
      return {
        tone: 'calm',
        text: `${record.reason === 'turn_timeout' ? 'Timed out' : 'Cancelled'}: ${WHY_STOPPED[record.reason]}`,
      }
    case 'run.failed':
      return withDetail({ tone: 'bad', text: `Failed: ${causeOf(record.error)}` }, record.detail)
    case 'model.failed':
      return {
        tone: 'wait',
        text: `Request failed: ${causeOf(record.error)}${record.retry_in_ms === null ? '' : `; retrying in ${durationText(record.retry_in_ms)}`}`,
      }
    case 'context.compacted':
      return withDetail(
        { tone: 'calm', text: `Conversation compacted: ${record.messages} messages` },
        textOf(record.content),
      )
    case 'token.expired':
      return { tone: 'wait', text: 'The time for a decision has passed' }
    case 'agent.gated':
    case 'agent.ungated':
      return { tone: 'calm', text: record.kind === 'agent.gated' ? 'Gated' : 'Ungated' }
    case 'program.note':
      return { tone: 'calm', text: record.content }
    default:
      return undefined
  }
}

function waitingEvent({ wait, asks = [], not_before: notBefore, why }: RecordOf<'run.waiting'>): Event {
  if (wait === 'not_before')
    return { tone: 'wait', text: `Waits until ${clockText(notBefore ?? '')}: ${why ?? 'a limit'}` }
  const tools = asks.map(({ tool }) => tool).join(', ')
  return {
    tone: 'wait',
    text: `Waits: ${WAIT_WORDS[wait].toLowerCase()}${tools === '' ? '' : ` (${tools})`}`,
  }
}

function withDetail(event: Event, detail: string | undefined): Event {
  return detail === undefined || detail === '' ? event : { ...event, detail }
}
