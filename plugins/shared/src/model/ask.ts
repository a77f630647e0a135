/**
 * Sends one streamed request. Yields the JSON of its server-sent events, or throws the failure that the API reported.
 */
import type { ModelEvent, ProviderFailure } from 'substrat/provider'
import { failure, isFailure } from '../failure.js'
import { type ApiError, apiErrorOf, apiFailure, oneLine, readApiError } from './api-error.js'
import { hasWords } from './error-words.js'
import { type Answer, request } from './post.js'
import type { Environment } from './proxy.js'
import type { Endpoint } from './settings.js'
import { isDone, type WireEvent, wireEvents } from './stream.js'

export interface Ask {
  endpoint: Endpoint
  headers: Record<string, string>
  body: object
  signal: AbortSignal
  environment: Environment
  /** Whether this event is the last. */
  isLast(event: WireEvent): boolean
}

// The limit of an error body: a server must not control this process's memory.
const ERROR_CHARACTERS_MAX = 64 * 1024

/** Ends after the last event, or at the end of the stream. The caller decides whether that was too early. */
export async function* ask(options: Ask): AsyncGenerator<WireEvent, void, undefined> {
  const { endpoint, signal, environment } = options
  const answer = await request({
    method: 'POST',
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
    const { target } = answer
    const { eventTimeoutMs } = endpoint
    for await (const event of wireEvents(answer.chunks(), {
      target,
      isLast: options.isLast,
      eventTimeoutMs,
    })) {
      isWhole = isDone(event) || options.isLast(event)
      yield event
    }
  } finally {
    if (isWhole) answer.release()
    else answer.destroy()
  }
}

/** Yields a provider's events. Throws an abort as such, and removes secrets from any other error. */
export async function* guardedEvents(
  events: AsyncIterable<ModelEvent>,
  signal: AbortSignal,
  scrub: (text: string) => string,
): AsyncGenerator<ModelEvent, void, undefined> {
  try {
    yield* events
  } catch (error) {
    signal.throwIfAborted()
    throw scrubbedError(error, scrub, CAUSES_MAX)
  }
}

/** The same for one result. */
export async function guarded<T>(
  act: () => Promise<T>,
  signal: AbortSignal,
  scrub: (text: string) => string,
): Promise<T> {
  try {
    return await act()
  } catch (error) {
    signal.throwIfAborted()
    throw scrubbedError(error, scrub, CAUSES_MAX)
  }
}

const CAUSES_MAX = 5

/** Copies an error for the log: message, stack and causes, without secrets. All other properties are dropped. */
function scrubbedError(error: unknown, scrub: (text: string) => string, causes: number): Error {
  const { message, stack, cause } = error instanceof Error ? error : new Error(String(error))
  const code = (error as NodeJS.ErrnoException | null)?.code
  const clean = isFailure(error)
    ? failureLike(error, scrub(message))
    : Object.assign(new Error(scrub(message)), typeof code === 'string' && { code })
  if (stack !== undefined) clean.stack = scrub(stack)
  if (cause !== undefined && cause !== null && causes > 0)
    clean.cause = scrubbedError(cause, scrub, causes - 1)
  return clean
}

function failureLike({ failure: facts }: ProviderFailure, message: string): ProviderFailure {
  const like = failure(facts.type, message, facts.retry_after_ms)
  return facts.answer_began === true ? withAnswer(like) : like
}

/** An error that the API reports within its answer. The service may charge for what it had read and written. */
export function streamFailure(endpoint: Endpoint, error: ApiError): Error {
  return withAnswer(apiFailure({ target: endpoint.url.host, status: undefined, headers: {}, error }))
}

function withAnswer(failed: ProviderFailure): ProviderFailure {
  failed.failure.answer_began = true
  return failed
}

/** `unread`: an event of no known kind. If it has words, they are the error of a server that reports errors in a form of its own. */
export function cutShort(endpoint: Endpoint, unread: WireEvent | undefined): Error {
  if (unread !== undefined && hasWords(unread)) return streamFailure(endpoint, apiErrorOf(unread))
  return failure('unreachable', `${endpoint.url.host} ended its answer early`)
}

/** A success that is a page has failed too. Other types are read by what they contain. */
async function refuseOtherThanEvents(answer: Answer): Promise<void> {
  const { status, headers, target } = answer
  const kind = headers['content-type'] ?? ''
  const isSuccess = status >= 200 && status < 300
  if (isSuccess && !/html|xml/.test(kind)) return
  const error = readApiError(await readText(answer))
  if (!isSuccess) throw apiFailure({ target, status, headers, error })
  const words = error.message === '' ? '' : `: ${oneLine(error.message)}`
  throw failure('invalid_response', `${target} answered with ${kind} instead of an event stream${words}`)
}

async function readText(answer: Answer): Promise<string> {
  let text = ''
  try {
    for await (const chunk of answer.chunks()) {
      text += chunk
      if (text.length > ERROR_CHARACTERS_MAX) break
    }
  } catch (error) {
    // If the connection is lost after the status, the status is enough.
    if (!isFailure(error)) throw error
  }
  return text
}

/**
 * JSON.stringify escapes an unpaired surrogate, for example where a tool's output was truncated. The APIs reject such
 * an escape, in this and every later request of the conversation.
 */
function wellFormedJson(body: object): string {
  const json = JSON.stringify(body)
  if (!/\\ud[89a-f]/.test(json)) return json
  return JSON.stringify(body, (_, value: unknown) =>
    typeof value === 'string' ? value.replaceAll(/\p{Surrogate}/gu, '\ufffd') : value,
  )
}
