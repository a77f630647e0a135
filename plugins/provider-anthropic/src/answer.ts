/** Turns the events of the Messages API into events of the contract. An answer in JSON is one event with the whole message. */
import type Anthropic from '@anthropic-ai/sdk'
import type { ModelEvent } from 'substrat/provider'
import { cutShort, streamFailure } from '../../shared/src/model/ask.js'
import { cutBy, type Ends, endEvents, endIn, refuseEnd } from '../../shared/src/model/ends.js'
import type { Paused } from '../../shared/src/model/paused.js'
import type { Endpoint } from '../../shared/src/model/settings.js'
import { errorIn, isDone, untilBroken, type WireEvent } from '../../shared/src/model/stream.js'
import { numberIn, objectIn, objectsIn, textIn, type Wire } from '../../shared/src/model/wire.js'
import { Blocks, type ContentBlock } from './blocks.js'
import { UsageCount } from './usage-count.js'

type Event = Wire<Anthropic.RawMessageStreamEvent> | ({ type: 'message' } & Whole) | { type: 'ping' }
type Whole = Wire<Pick<Anthropic.Message, 'model' | 'usage' | 'stop_reason' | 'content'>>

/** By `stop_reason`. @public A test compares it with the docs. */
export const MESSAGES_ENDS: Ends = {
  end_turn: 'complete',
  stop_sequence: 'complete',
  tool_use: 'calls',
  max_tokens: 'cut',
  model_context_window_exceeded: 'cut',
  refusal: 'refused',
  pause_turn: 'paused',
  // Words of other APIs, which gateways pass on.
  stop: 'complete',
  tool_calls: 'calls',
  length: 'cut',
  content_filter: 'refused',
  error: 'failed',
}

export function isLast({ type }: WireEvent): boolean {
  return type === 'message_stop' || type === 'message'
}

export async function* readAnswer(
  events: AsyncIterable<WireEvent>,
  endpoint: Endpoint,
): AsyncGenerator<ModelEvent | Paused, void, undefined> {
  const usage = new UsageCount()
  try {
    yield* readEvents(events, endpoint, usage)
  } catch (error) {
    // The service charges for the part that it had sent.
    if (usage.isKnown) yield usage.event
    throw error
  }
}

async function* readEvents(
  events: AsyncIterable<WireEvent>,
  endpoint: Endpoint,
  usage: UsageCount,
): AsyncGenerator<ModelEvent | Paused, void, undefined> {
  const blocks = new Blocks(endpoint)
  const ending = new Ending()
  let whole: Whole | undefined
  let unread: WireEvent | undefined
  for await (const wireEvent of untilBroken(events, () => ending.stop !== '')) {
    const error = errorIn(wireEvent)
    if (error !== undefined) throw streamFailure(endpoint, error)
    if (isDone(wireEvent)) ending.isMarked = true
    if (wireEvent.type === undefined) unread = wireEvent
    const event = wireEvent as Event
    switch (event.type) {
      case 'message_start':
      case 'message':
        whole = event.type === 'message' ? event : (objectIn(event, 'message') as Whole | undefined)
        usage.model = whole?.model
        usage.take(whole?.usage)
        ending.take(whole)
        ending.isMarked ||= event.type === 'message'
        break
      case 'content_block_start':
        yield* blocks.begin(
          numberIn(event, 'index'),
          objectIn(event, 'content_block') as ContentBlock | undefined,
        )
        break
      case 'content_block_delta':
        yield* blocks.add(numberIn(event, 'index'), objectIn(event, 'delta'))
        break
      case 'content_block_stop':
        blocks.end(numberIn(event, 'index'))
        break
      case 'message_delta':
        usage.take(event.usage)
        ending.take(objectIn(event, 'delta'))
        break
      case 'message_stop':
        ending.isMarked = true
        break
    }
  }
  // The stop reason ends an answer too.
  if (!ending.isMarked && ending.stop === '') throw cutShort(endpoint, unread)
  if (blocks.isEmpty) yield* blocks.takeAll(objectsIn(whole, 'content') as ContentBlock[])
  const end = endIn(MESSAGES_ENDS, ending.stop)
  refuseEnd(endpoint, end, ending.word)
  const calls = blocks.finish(cutBy(end, ending.word))
  yield usage.event
  yield* endEvents({ end, word: ending.word, calls, layout: blocks.layout })
}

/** The end of an answer, as its server states it. */
class Ending {
  stop = ''
  isMarked = false
  private category = ''

  get word(): string {
    return this.category === '' ? this.stop : `${this.stop}: ${this.category}`
  }

  take(delta: Wire<Pick<Anthropic.MessageDeltaUsage, never>> | undefined): void {
    const said = delta as
      | { stop_reason?: string | null; stop_details?: { category?: string | null } | null }
      | undefined
    this.stop = textIn(said, 'stop_reason') || this.stop
    this.category = textIn(objectIn(said, 'stop_details'), 'category') || this.category
  }
}
