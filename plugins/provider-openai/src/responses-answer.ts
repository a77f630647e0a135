/**
 * Turns the events of the Responses API into events of the contract. Servers send each item in pieces, whole at its end, whole at the
 * end of the response, or in all these ways.
 */
import type OpenAI from 'openai'
import type { ModelEvent } from 'substrat/provider'
import { apiErrorOf } from '../../shared/src/model/api-error.js'
import { cutShort, streamFailure } from '../../shared/src/model/ask.js'
import { cutBy, type End, type Ends, endEvents, endIn, refuseEnd } from '../../shared/src/model/ends.js'
import type { Paused } from '../../shared/src/model/paused.js'
import type { Endpoint } from '../../shared/src/model/settings.js'
import { errorIn, isDone, type WireEvent } from '../../shared/src/model/stream.js'
import { usageEvent } from '../../shared/src/model/usage.js'
import { countOf, objectIn, objectsIn, textIn, type Wire } from '../../shared/src/model/wire.js'
import { type ItemEvent, ResponseItems } from './response-items.js'

type Response = Wire<OpenAI.Responses.Response>

/** The events that end a response, and the status of a response without one. `response.done` is an older name. */
const LAST: Record<string, string> = {
  'response.completed': 'completed',
  'response.done': 'completed',
  'response.incomplete': 'incomplete',
  'response.failed': 'failed',
  'response.cancelled': 'cancelled',
}

/** By status, or for an incomplete response by its reason. @public A test compares it with the docs. */
export const RESPONSES_ENDS: Ends = {
  completed: 'complete',
  failed: 'failed',
  cancelled: 'failed',
  in_progress: 'failed',
  queued: 'failed',
  max_output_tokens: 'cut',
  max_tokens: 'cut',
  length: 'cut',
  content_filter: 'refused',
  refusal: 'refused',
}

export function isLast({ type, object }: WireEvent): boolean {
  return object === 'response' || type === 'error' || Object.hasOwn(LAST, String(type))
}

export async function* readResponses(
  events: AsyncIterable<WireEvent>,
  endpoint: Endpoint,
): AsyncGenerator<ModelEvent | Paused, void, undefined> {
  const items = new ResponseItems(endpoint)
  let unread: WireEvent | undefined
  for await (const event of events) {
    if (isDone(event)) {
      // Some servers end the stream only with this. It does not say that the response is complete.
      if (items.isEmpty || items.isOpen) break
      return yield* end(endpoint, items, {})
    }
    const type = String(event.type)
    const response: { status?: string } =
      event.object === 'response' ? event : (objectIn(event as { response?: object }, 'response') ?? {})
    if (event.object === 'response' || Object.hasOwn(LAST, type)) {
      const ended = {
        ...dropNull(response),
        status: statusOf(type, textIn(response as Response | undefined, 'status')),
      } as Response
      // The items may be refused, and the request is charged all the same.
      yield* used(ended)
      yield* items.takeAll(objectsIn(ended, 'output'))
      return yield* end(endpoint, items, ended)
    }
    const error = errorIn(event)
    if (error !== undefined) throw streamFailure(endpoint, error)
    if (event.type === undefined) unread = event
    yield* items.take(event as ItemEvent)
  }
  throw cutShort(endpoint, unread)
}

/** Some servers end a response and repeat the status that it had at its beginning: the event knows better. */
function statusOf(type: string, status: string): string {
  const own = LAST[type]
  const isBegun = ['', 'in_progress', 'queued'].includes(status.toLowerCase())
  return own !== undefined && (isBegun || own !== 'completed') ? own : status || 'completed'
}

function dropNull(response: object | undefined): object {
  return Object.fromEntries(Object.entries(response ?? {}).filter(([, value]) => value !== null))
}

function* end(endpoint: Endpoint, items: ResponseItems, response: Response): Iterable<ModelEvent | Paused> {
  const status = textIn(response, 'status')
  const reason = textIn(objectIn(response, 'incomplete_details'), 'reason')
  if (response.error) throw streamFailure(endpoint, apiErrorOf({ error: response.error }))
  const word = items.isRefused ? 'refusal' : reason || status
  const end: End = endIn(RESPONSES_ENDS, word)
  refuseEnd(endpoint, end, word)
  yield* endEvents({ end, word, calls: items.calls.finish(cutBy(end, word), true), layout: items.layout })
}

/** A failed response is charged too. */
function* used(response: Response): Iterable<ModelEvent> {
  const usage = objectIn(response, 'usage')
  if (usage === undefined) return
  const { input_tokens, output_tokens, input_tokens_details, output_tokens_details } = usage
  const parts = {
    cache_read_tokens: input_tokens_details?.cached_tokens,
    reasoning_tokens: output_tokens_details?.reasoning_tokens,
  }
  yield usageEvent(countOf(input_tokens), countOf(output_tokens), parts, response.model)
}
