/**
 * Reads an answer as events: a stream of server-sent events, or one JSON object that is the whole answer. It needs no network, so
 * that any bytes can be read in process.
 *
 * Invariants:
 * - A whole last event counts, also without the empty line after it. A part of one never does.
 * - A server controls neither this process's memory nor how long it reads: every size is limited, and so is the time without an
 *   event.
 */
import { createParser } from 'eventsource-parser'
import { failure, isFailure } from '../failure.js'
import { type ApiError, apiErrorOf } from './api-error.js'
import { dataOfOddLine, LineMarks } from './odd-lines.js'

/** An event of unknown shape. */
export type WireEvent = { [key: string]: unknown }

export interface StreamOptions {
  /** The name of the server in messages. */
  target: string
  /** Whether this event is the last. */
  isLast(event: WireEvent): boolean
  /** The longest time without an event. Comments are not events. */
  eventTimeoutMs: number
}

// Limits of an event. A whole answer in JSON has the same.
const EVENT_CHARACTERS_MAX = 16 * 1024 * 1024
// Limits of a whole answer, including ignored events such as reasoning and pings: every turn must end.
const ANSWER_CHARACTERS_MAX = 512 * 1024 * 1024
const EVENTS_MAX = 1_000_000
const SHOWN_CHARACTERS_MAX = 200
/** Pings are events, because a model may think for long. But they alone do not keep a request open for ever. */
const PING_TIMEOUTS = 6
const PING = /ping|keep.?alive|heartbeat/i

/** The end of a chat completion, which some servers of other APIs send too. */
const DONE = { type: '[DONE]' }
const DONE_FORMS = /^"?\[done\]"?$/i

export function isDone({ type }: WireEvent): boolean {
  return type === DONE.type
}

/** Yields the mark of the end too. The reader decides whether the stream ended too early. */
export async function* wireEvents(
  chunks: AsyncIterable<string>,
  options: StreamOptions,
): AsyncGenerator<WireEvent, void, undefined> {
  const { target } = options
  for await (const message of messagesOf(chunks, options)) {
    for (const event of eventsIn(message, target)) {
      yield event
      if (isDone(event) || options.isLast(event)) return
    }
  }
}

/** The error that an event reports, in any of the forms in use. */
export function errorIn(event: WireEvent): ApiError | undefined {
  // An item of the Responses API may have failed without the response.
  const isOfItem = typeof event.type === 'string' && event.type.startsWith('response.')
  const isError =
    (event.error !== undefined && event.error !== null && !isOfItem) ||
    event.type === 'error' ||
    event.object === 'error' ||
    (event.choices === undefined && event.type === undefined && typeof event.message === 'string')
  return isError ? apiErrorOf(event) : undefined
}

interface Message {
  data: string
  event?: string | undefined
  /** It is the last one, without an empty line after it. */
  isFlushed?: boolean
}

/** A byte order mark is not part of the text. An answer in JSON becomes the data of one message. */
async function* sniffed(
  chunks: AsyncIterable<string>,
  target: string,
  silence: Silence,
): AsyncGenerator<string | Message> {
  let text = ''
  let kind: 'unknown' | 'events' | 'json' = 'unknown'
  for await (const chunk of chunks) {
    if (kind === 'events') {
      yield chunk
      continue
    }
    text += chunk
    if (text.length > EVENT_CHARACTERS_MAX)
      throw tooLong(target, `an event of more than ${EVENT_CHARACTERS_MAX}`)
    silence.check([])
    if (kind === 'json') continue
    text = text.replace(/^\ufeff/, '')
    const first = text.trimStart()[0]
    if (first === undefined) continue
    if (first === '<') throw failure('invalid_response', `${target} answered with a page: ${shown(text)}`)
    kind = first === '{' || first === '[' ? 'json' : 'events'
    if (kind === 'events') yield text
  }
  if (kind === 'json') yield { data: text, isFlushed: true }
}

async function* messagesOf(
  chunks: AsyncIterable<string>,
  { target, eventTimeoutMs }: StreamOptions,
): AsyncGenerator<Message, void, undefined> {
  let messages: Message[] = []
  const size = new Size(target)
  const silence = new Silence(target, eventTimeoutMs)
  const marks = new LineMarks()
  const parser = createParser({
    onEvent: (message) => void messages.push(message),
    onError: ({ line }) => {
      const data = line === undefined ? undefined : dataOfOddLine(line)
      if (data !== undefined) messages.push({ data })
    },
  })
  for await (const chunk of sniffed(silence.timed(chunks), target, silence)) {
    if (typeof chunk !== 'string') {
      yield chunk
      return
    }
    parser.feed(marks.without(chunk))
    size.add(chunk, messages.length)
    silence.check(messages)
    if (messages.length === 0) continue
    yield* messages
    messages = []
  }
  // The parser waits for the empty line that ends an event.
  parser.feed('\n\n')
  yield* messages.map((message) => ({ ...message, isFlushed: true }))
}

class Size {
  private characters = 0
  private total = 0
  private count = 0

  constructor(private readonly target: string) {}

  add({ length }: string, events: number): void {
    this.characters += length
    this.total += length
    this.count += events
    if (this.characters > EVENT_CHARACTERS_MAX)
      throw tooLong(this.target, `an event of more than ${EVENT_CHARACTERS_MAX}`)
    if (this.total > ANSWER_CHARACTERS_MAX)
      throw tooLong(this.target, `an answer of more than ${ANSWER_CHARACTERS_MAX}`)
    if (this.count > EVENTS_MAX)
      throw failure('invalid_response', `${this.target} sent an answer of more than ${EVENTS_MAX} events`)
    if (events > 0) this.characters = 0
  }
}

/** Measures only the time for which the reader waits: a slow reader does not count as a slow server. */
class Silence {
  private waitedMs = 0
  private pingedMs = 0

  constructor(
    private readonly target: string,
    private readonly limitMs: number,
  ) {}

  async *timed(chunks: AsyncIterable<string>): AsyncGenerator<string, void, undefined> {
    const iterator = chunks[Symbol.asyncIterator]()
    let isOver = false
    try {
      for (;;) {
        const begun = performance.now()
        const next = await iterator.next()
        this.waitedMs += performance.now() - begun
        isOver = next.done === true
        if (next.done === true) return
        yield next.value
      }
    } finally {
      if (!isOver) await iterator.return?.()
    }
  }

  check(messages: Message[]): void {
    if (messages.length > 0) {
      const isPing = messages.every(({ data, event }) => PING.test(event ?? '') || isPingData(data))
      this.pingedMs = isPing ? this.pingedMs + this.waitedMs : 0
      this.waitedMs = 0
    }
    const { limitMs, pingedMs } = this
    if (this.waitedMs <= limitMs && pingedMs <= limitMs * PING_TIMEOUTS) return
    const s = (this.waitedMs > limitMs ? limitMs : limitMs * PING_TIMEOUTS) / 1000
    throw failure('timeout', `${this.target} keeps the connection open, but sent no event for ${s} s`)
  }
}

function isPingData(data: string): boolean {
  return (
    data.length < SHOWN_CHARACTERS_MAX &&
    (/^\s*(null\s*)?$/.test(data) || /^\s*\{\s*"type"\s*:\s*"[^"]*(ping|keep.?alive|heartbeat)/i.test(data))
  )
}

function* eventsIn({ data, event: name, isFlushed = false }: Message, target: string): Iterable<WireEvent> {
  const text = data.trim()
  if (text === '' || text === 'null') return
  if (DONE_FORMS.test(text)) {
    yield DONE
    return
  }
  const { values, isWhole } = jsonIn(data)
  for (const value of values) {
    // Some servers put an error into a list.
    const event: unknown = Array.isArray(value) ? value[0] : value
    if (typeof event !== 'object' || event === null) throw notAnObject(data, target)
    yield name === undefined || 'type' in event ? (event as WireEvent) : { ...event, type: name }
  }
  if (isWhole || isFlushed || PING.test(name ?? '')) return
  // The words of a gateway that failed.
  if (name === 'error') yield { type: 'error', message: data }
  else throw notAnObject(data, target)
}

/** The data of a message is one JSON value. Some servers omit the empty line between two messages: then each line is one. */
function jsonIn(data: string): { values: unknown[]; isWhole: boolean } {
  const values: unknown[] = []
  try {
    return { values: [JSON.parse(data)], isWhole: true }
  } catch {
    try {
      for (const line of data.split('\n').map((each) => each.trim()))
        if (line !== '') values.push(DONE_FORMS.test(line) ? DONE : JSON.parse(line))
      return { values, isWhole: true }
    } catch {
      return { values, isWhole: false }
    }
  }
}

function notAnObject(data: string, target: string): Error {
  return failure('invalid_response', `${target} sent an event that is not a JSON object: ${shown(data)}`)
}

function shown(text: string): string {
  const words = text
    .replaceAll(/<(script|style)[^>]*>.*?<\/\1>|<[^>]*>/gis, ' ')
    .replaceAll(/\s+/g, ' ')
    .trim()
  return words.length <= SHOWN_CHARACTERS_MAX ? words : `${words.slice(0, SHOWN_CHARACTERS_MAX)}…`
}

function tooLong(target: string, what: string): Error {
  return failure('invalid_response', `${target} sent ${what} characters`)
}

/** Ends at a lost connection, if nothing more is needed. */
export async function* untilBroken(
  events: AsyncIterable<WireEvent>,
  isComplete: () => boolean,
): AsyncGenerator<WireEvent, void, undefined> {
  try {
    yield* events
  } catch (error) {
    const isLost = isFailure(error) && ['unreachable', 'timeout'].includes(error.failure.type)
    if (!isLost || !isComplete()) throw error
  }
}
