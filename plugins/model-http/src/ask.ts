/** One streamed request: the JSON of its server-sent events, or the failure that the API reported. */
import { createParser } from 'eventsource-parser'
import type { ModelEvent } from 'substrat/provider'
import { type ApiError, apiFailure, readApiError } from './api-error.js'
import { failure, isFailure } from './failure.js'
import { type Answer, post } from './post.js'
import type { Environment } from './proxy.js'
import type { Endpoint } from './settings.js'

export interface Ask {
  endpoint: Endpoint
  headers: Record<string, string>
  body: object
  signal: AbortSignal
  environment: Environment
  /** The event after which nothing more comes. */
  isLast(event: WireEvent): boolean
}

/** An event as it came: an object, of which nothing else is known yet. */
export type WireEvent = { [key: string]: unknown }

// Above this an event or an error is not read on: no memory of ours should depend on what a server sends.
const EVENT_CHARACTERS_MAX = 16 * 1024 * 1024
const ERROR_CHARACTERS_MAX = 64 * 1024
// A chat completion ends so.
const DONE = '[DONE]'

/** Ends after the last event, or where the stream ends: whether that was too early is for the caller to know. */
export async function* ask(options: Ask): AsyncGenerator<WireEvent, void, undefined> {
  const { endpoint, signal, environment } = options
  const answer = await post({
    url: endpoint.url,
    headers: {
      ...options.headers,
      'content-type': 'application/json',
      accept: 'text/event-stream',
    },
    body: wellFormedJson(options.body),
    stallTimeoutMs: endpoint.stallTimeoutMs,
    signal,
    environment,
  })
  let isWhole = false
  try {
    await refuseOtherThanEvents(answer)
    for await (const data of eventsOf(answer)) {
      isWhole = data === DONE
      if (isWhole) return
      const event = parseEvent(data, answer.target)
      isWhole = options.isLast(event)
      yield event
      if (isWhole) return
    }
  } finally {
    if (isWhole) answer.release()
    else answer.destroy()
  }
}

/** What a provider yields, with an abort thrown as such and without its secrets in any error. */
export async function* guarded(
  events: AsyncIterable<ModelEvent>,
  signal: AbortSignal,
  scrub: (text: string) => string,
): AsyncGenerator<ModelEvent, void, undefined> {
  try {
    yield* events
  } catch (error) {
    signal.throwIfAborted()
    const message = scrub(error instanceof Error ? error.message : String(error))
    if (isFailure(error)) throw failure(error.failure.type, message, error.failure.retry_after_ms)
    throw new Error(message)
  }
}

/** An error that the API reports in the middle of its answer. */
export function streamFailure(endpoint: Endpoint, error: ApiError): Error {
  return apiFailure({ target: endpoint.url.host, status: undefined, headers: {}, error })
}

export function cutShort(endpoint: Endpoint): Error {
  return failure('unreachable', `the answer of ${endpoint.url.host} ended in the middle`)
}

async function refuseOtherThanEvents(answer: Answer): Promise<void> {
  const { status, headers, target } = answer
  const kind = headers['content-type'] ?? ''
  const isSuccess = status >= 200 && status < 300
  if (isSuccess && (kind === '' || kind.includes('text/event-stream'))) return
  const text = await readText(answer)
  if (!isSuccess) throw apiFailure({ target, status, headers, error: readApiError(text) })
  const error = kind.includes('json') ? readApiError(text) : undefined
  if (error?.isReported) throw apiFailure({ target, status: undefined, headers, error })
  throw failure('invalid_response', `${target} answered with ${kind}, and not with a stream of events`)
}

async function readText(answer: Answer): Promise<string> {
  let text = ''
  try {
    for await (const chunk of answer.chunks()) {
      text += chunk
      if (text.length > ERROR_CHARACTERS_MAX) break
    }
  } catch (error) {
    // The status says enough, where the connection was lost after it.
    if (!isFailure(error)) throw error
  }
  return text
}

async function* eventsOf(answer: Answer): AsyncGenerator<string, void, undefined> {
  let events: string[] = []
  let characters = 0
  const parser = createParser({ onEvent: ({ data }) => void events.push(data) })
  for await (const chunk of answer.chunks()) {
    parser.feed(chunk)
    characters += chunk.length
    if (characters > EVENT_CHARACTERS_MAX) {
      throw failure(
        'invalid_response',
        `${answer.target} sent an event of more than ${EVENT_CHARACTERS_MAX} characters`,
      )
    }
    if (events.length === 0) continue
    characters = 0
    yield* events
    events = []
  }
}

function parseEvent(data: string, target: string): WireEvent {
  try {
    const value: unknown = JSON.parse(data)
    if (typeof value === 'object' && value !== null && !Array.isArray(value)) return value as WireEvent
  } catch {
    // Refused below, as any other that is no JSON object.
  }
  throw failure('invalid_response', `${target} sent an event that is no JSON object`)
}

/**
 * JSON.stringify writes half of a surrogate pair (where a tool's output was cut, say) as an escape that the APIs refuse,
 * and would refuse in every later request of the conversation too.
 */
function wellFormedJson(body: object): string {
  const json = JSON.stringify(body)
  if (!/\\ud[89a-f]/.test(json)) return json
  return JSON.stringify(body, (_, value: unknown) =>
    typeof value === 'string' ? value.replaceAll(/\p{Surrogate}/gu, '\ufffd') : value,
  )
}
