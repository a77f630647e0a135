/**
 * The conversation of an agent, from the entries of its log. A tool call is one item: its start, its end and its output are one
 * thing to a reader.
 */
import { actorText, isReader, type Reader } from 'substrat/actors'
import { type Entry, type EntryOf, entryOf, inputText } from 'substrat/entries'
import { questionsIn, questionText } from 'substrat/questions'
import type { Actor, SessionRecord } from '../api/types.js'
import { bytesOf, reasoningText, textOf } from './content.js'
import { clockText, durationText, withLocalTimes } from './time.js'
import { DECISION_WORDS, type Tone, WAIT_WORDS } from './words.js'

export type Item =
  | {
      type: 'message'
      seq: number
      at: string
      from: 'you' | 'agent' | 'other'
      who: string
      text: string
      /** The id, if it is a person's. A copy of the conversation may end before it. */
      prompt?: string
    }
  | { type: 'reasoning'; seq: number; at: string; text: string; bytes: number }
  | ToolItem
  | ({ type: 'event'; seq: number; at: string } & Event)

interface Event {
  tone: Tone
  text: string
  detail?: string
  /** Of use only in a report, such as the stack of an error. */
  trace?: string
}

export interface ToolItem {
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

/** `reader`: is "you". */
export function conversationOf(records: readonly SessionRecord[], reader: Reader = {}): Item[] {
  const conversation = new Conversation(reader)
  for (const record of records) conversation.add(entryOf(record))
  return conversation.items
}

class Conversation {
  constructor(private readonly reader: Reader) {}

  readonly items: Item[] = []
  /** By call id: the latest call with it, since ids are unique only in one response. */
  private readonly tools = new Map<string, ToolItem>()
  /** The ids of the calls whose result is the answer of a person. */
  private readonly questions = new Set<string>()

  add(entry: Entry): void {
    switch (entry.type) {
      case 'prompt': {
        const who = entry.actor === undefined ? entry.sender : actorText(entry.actor, this.reader)
        this.say(
          entry,
          who === 'you' ? 'you' : 'other',
          who,
          entry.sender === 'you' ? entry.message_id : undefined,
        )
        break
      }
      case 'notice':
        this.say(entry, 'other', entry.sender)
        break
      case 'mail':
        if (entry.call_id === undefined) this.addMail(entry)
        break
      case 'reply':
        this.say(entry, 'agent', 'agent')
        break
      case 'response':
        this.addResponse(entry)
        break
      case 'call_start':
      case 'call':
        this.start(entry)
        break
      case 'result':
        this.finish(entry)
        break
      case 'deferral':
        this.defer(entry)
        break
      case 'answer':
        this.addAnswer(entry, entry.decision)
        break
      default: {
        if (entry.type === 'wait' && entry.wait === 'input')
          for (const { call_id: id } of entry.asks ?? []) if (id !== null) this.questions.add(id)
        const event = eventOf(entry, this.reader)
        if (event !== undefined) this.addEvent(entry, event)
      }
    }
  }

  private say(
    { seq, ts: at, content }: Pick<EntryOf<'prompt' | 'mail' | 'reply' | 'notice'>, 'seq' | 'ts' | 'content'>,
    from: 'you' | 'agent' | 'other',
    who: string,
    prompt?: string,
  ): void {
    const asked = prompt === undefined || typeof content !== 'string' ? {} : { prompt }
    this.items.push({ type: 'message', seq, at, from, who, text: textOf(content), ...asked })
  }

  private addMail(mail: EntryOf<'mail'>): void {
    const { actor, mail_kind, from } = mail
    const who = actor === undefined ? (mail.sender ?? from.slice(0, 8)) : actorText(actor, this.reader)
    const kind = mail_kind === 'request' ? '' : ` (${mail_kind})`
    this.say(mail, who === 'you' ? 'you' : 'other', `${who}${kind}`)
  }

  /** A wait that is begun again, for example with a new token, is one event to a reader. */
  private addEvent({ seq, ts }: Pick<Entry, 'seq' | 'ts'>, event: Event): void {
    const last = this.items.at(-1)
    if (last?.type === 'event' && last.text === withLocalTimes(event.text)) return
    this.items.push({ type: 'event', seq, at: ts, ...event, text: withLocalTimes(event.text) })
  }

  private addResponse({ seq, ts, items, items_blob: blob, calls = [] }: EntryOf<'response'>): void {
    const bytes = blob?.bytes ?? (items === undefined ? 0 : bytesOf(JSON.stringify(items)))
    if (bytes > 0)
      this.items.push({ type: 'reasoning', seq, at: ts, text: reasoningText(items ?? []), bytes })
    for (const { call_id: id, name, input } of calls)
      this.addTool(id, { seq, at: ts, tool: name, input, state: 'asked' })
  }

  private addTool(id: string, given: Pick<ToolItem, 'seq' | 'at' | 'tool' | 'input' | 'state'>): void {
    const item = {
      type: 'tool' as const,
      ...given,
      summary: summaryOf(given.tool, given.input),
      output: '',
      tookMs: undefined,
    }
    this.tools.set(id, item)
    this.items.push(item)
  }

  private start(entry: EntryOf<'call_start' | 'call'>): void {
    const { call_id: id, seq, ts: at, tool, input } = entry
    const asked = this.tools.get(id)
    if (asked === undefined || entry.type === 'call')
      this.addTool(id, { seq, at, tool, input, state: 'running' })
    else Object.assign(asked, { state: 'running', at })
  }

  private finish({ call_id: id, seq, ts: at, tool, content, is_error: isError }: EntryOf<'result'>): void {
    if (!this.tools.has(id)) this.addTool(id, { seq, at, tool, input: undefined, state: 'running' })
    const item = this.tools.get(id)
    if (item === undefined) return
    const tookMs = item.state === 'running' ? Date.parse(at) - Date.parse(item.at) : undefined
    Object.assign(item, { state: isError ? 'failed' : 'done', output: textOf(content), tookMs })
    if (this.questions.delete(id) && !isError) this.say({ seq, ts: at, content }, 'you', 'you')
  }

  /** The decision about a call of an agent program. An answer is a message of the reader's, like that to `ask_operator`. */
  private addAnswer({ seq, ts, content, actor }: EntryOf<'answer'>, decision: string): void {
    if (textOf(content) === '') return
    const who = actor === undefined ? 'you' : actorText(actor, this.reader)
    if (decision === 'input') this.say({ seq, ts, content }, who === 'you' ? 'you' : 'other', who)
    else this.addEvent({ seq, ts }, { tone: 'good', text: textOf(content) })
  }

  private defer({ call_id: id, content }: EntryOf<'deferral'>): void {
    const item = this.tools.get(id)
    if (item !== undefined) Object.assign(item, { state: 'elsewhere', output: textOf(content) })
  }
}

/** A question with its choices, or the input of any other call. */
function summaryOf(tool: string, input: ToolItem['input']): string {
  const isQuestion = tool === 'ask_operator' || Array.isArray(input?.questions)
  return (isQuestion && questionText(questionsIn(input ?? {}))) || inputText(input)
}

/** Undefined for entries that tell a reader of the conversation nothing. */
function eventOf(entry: Entry, reader: Reader): Event | undefined {
  const by = (actor: Actor | undefined): string =>
    isReader(actor, reader) ? '' : `, by ${actorText(actor as Actor, reader)}`
  switch (entry.type) {
    case 'creation':
      return { tone: 'calm', text: `Created with the provider ${entry.provider}${by(entry.actor)}` }
    case 'seed':
      return { tone: 'calm', text: `Begins with the conversation of agent ${entry.from.slice(0, 8)}` }
    case 'settings':
      return entry.hold === undefined
        ? undefined
        : { tone: 'calm', text: sentence(entry.text) + by(entry.actor) }
    case 'change':
      return withDetail(
        { tone: 'calm', text: sentence(entry.text) + by(entry.actor) },
        entry.content && textOf(entry.content),
      )
    case 'turn':
      if (entry.fresh === true && entry.how === undefined)
        return { tone: 'calm', text: 'New conversation: the agent does not see the earlier one' }
      return entry.how === undefined
        ? undefined
        : { tone: 'run', text: `Continued${entry.how}${by(entry.actor)}` }
    case 'resumption':
      return entry.how === undefined
        ? undefined
        : { tone: 'run', text: `Continued${entry.how}${by(entry.actor)}` }
    case 'wait':
      return waitingEvent(entry)
    case 'decision':
      // The answer itself follows.
      if (entry.decision === 'input') return undefined
      return { tone: 'good', text: `Decision: ${DECISION_WORDS[entry.decision]}${by(entry.actor)}` }
    case 'edit':
      return {
        tone: 'good',
        text: sentence(
          `${entry.actor === undefined ? 'you' : actorText(entry.actor, reader)} changed the arguments of ${entry.tool}`,
        ),
        detail: JSON.stringify(entry.input ?? {}, null, 2),
      }
    case 'stop':
      return {
        tone: entry.how === 'interrupted' ? 'bad' : 'calm',
        text: sentence(`${entry.how}: ${entry.why}${by(entry.actor)}`),
      }
    case 'failure':
      return { tone: 'bad', text: `Failed: ${entry.why}`, ...(entry.detail && { trace: entry.detail }) }
    case 'failed_request':
      return {
        tone: 'wait',
        text: `Request failed: ${entry.why}${entry.retry_in_ms === null ? '' : `; retrying in ${durationText(entry.retry_in_ms)}`}`,
      }
    case 'expiry':
      return { tone: 'wait', text: 'The time for a decision has passed' }
    case 'note':
      return { tone: 'calm', text: entry.content }
    default:
      return undefined
  }
}

function sentence(text: string): string {
  return text.charAt(0).toUpperCase() + text.slice(1)
}

function waitingEvent({ wait, asks = [], not_before: notBefore, why }: EntryOf<'wait'>): Event {
  if (wait === 'not_before')
    return { tone: 'wait', text: `Waits until ${clockText(notBefore ?? '')}: ${why ?? 'a limit'}` }
  if (wait === 'budget') return { tone: 'wait', text: `Waits for a larger budget: ${why ?? 'it is used up'}` }
  const tools = asks.map(({ tool }) => tool).join(', ')
  return {
    tone: 'wait',
    text: `Waits: ${WAIT_WORDS[wait].toLowerCase()}${tools === '' ? '' : ` (${tools})`}`,
  }
}

function withDetail(event: Event, detail: string | undefined): Event {
  return detail === undefined || detail === '' ? event : { ...event, detail }
}
