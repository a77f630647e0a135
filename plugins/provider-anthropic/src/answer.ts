/** Turns the events of the Messages API into events of the contract. */
import type Anthropic from '@anthropic-ai/sdk'
import type { JsonObject, ModelEvent } from 'substrat/provider'
import { apiErrorOf } from '../../shared/src/model/api-error.js'
import { cutShort, streamFailure, type WireEvent } from '../../shared/src/model/ask.js'
import { Layout } from '../../shared/src/model/layout.js'
import { refusal } from '../../shared/src/model/refusal.js'
import type { Endpoint } from '../../shared/src/model/settings.js'
import { ToolCalls } from '../../shared/src/model/tool-calls.js'
import { usageEvent } from '../../shared/src/model/usage.js'
import { countOf, numberIn, objectIn, textIn, type Wire } from '../../shared/src/model/wire.js'

type Event = Wire<Anthropic.RawMessageStreamEvent> | { type: 'error' } | { type: 'ping' }

export function isLast({ type }: WireEvent): boolean {
  return type === ('message_stop' satisfies Anthropic.RawMessageStreamEvent['type'])
}

export async function* readAnswer(
  events: AsyncIterable<WireEvent>,
  endpoint: Endpoint,
): AsyncGenerator<ModelEvent, void, undefined> {
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
): AsyncGenerator<ModelEvent, void, undefined> {
  const calls = new ToolCalls()
  const layout = new Layout(endpoint)
  const thinking = new Thinking(layout)
  let stop = ''
  let category = ''
  let isWhole = false
  for await (const wireEvent of events) {
    const event = wireEvent as Event
    switch (event.type) {
      case 'message_start':
        usage.model = event.message?.model
        usage.take(event.message?.usage)
        break
      case 'content_block_start':
        yield* begin(event, { calls, layout, thinking })
        break
      case 'content_block_delta':
        yield* add(event, { calls, layout, thinking })
        break
      case 'message_delta': {
        usage.take(event.usage)
        const delta = objectIn(event, 'delta')
        stop = textIn(delta, 'stop_reason') || stop
        category = textIn(objectIn(delta ?? {}, 'stop_details'), 'category') || category
        break
      }
      case 'message_stop':
        isWhole = true
        break
      case 'error':
        throw streamFailure(endpoint, apiErrorOf(event))
    }
  }
  if (!isWhole) throw cutShort(endpoint)
  if (stop === ('refusal' satisfies Anthropic.StopReason))
    throw refusal(endpoint, category === '' ? stop : `${stop}: ${category}`)
  yield usage.event
  // Paused and unknown reasons end the response with its text so far.
  const isCut = CUT.some((one) => one === stop)
  thinking.finish(isCut)
  yield* layout.finish()
  for (const call of calls.finish(isCut)) yield { type: 'tool_call', call }
  yield { type: 'stop', reason: calls.count > 0 ? 'tool_calls' : isCut ? 'length' : 'end' }
}

const CUT: Anthropic.StopReason[] = ['max_tokens', 'model_context_window_exceeded']

interface Gathered {
  calls: ToolCalls
  layout: Layout
  thinking: Thinking
}

function* begin(
  event: Wire<Anthropic.RawContentBlockStartEvent>,
  { calls, layout, thinking }: Gathered,
): Iterable<ModelEvent> {
  const place = numberIn(event, 'index') ?? 0
  const block = objectIn(event, 'content_block')
  if (block?.type === 'text') yield* text(place, textIn(block, 'text'), layout)
  if (block?.type === 'thinking' || block?.type === 'redacted_thinking')
    thinking.start(place, block as JsonObject)
  if (block?.type === 'tool_use') {
    // Some compatible servers send the whole input here; the API sends `{}`.
    const input: object = objectIn(block as { input?: object | null }, 'input') ?? {}
    const isGiven = Object.keys(input).length > 0
    layout.addCall(place)
    calls.start(place, textIn(block, 'id'), textIn(block, 'name'), isGiven ? JSON.stringify(input) : '')
  }
}

function* add(
  event: Wire<Anthropic.RawContentBlockDeltaEvent>,
  { calls, layout, thinking }: Gathered,
): Iterable<ModelEvent> {
  const place = numberIn(event, 'index') ?? 0
  const delta = objectIn(event, 'delta')
  if (delta?.type === 'text_delta') yield* text(place, textIn(delta, 'text'), layout)
  if (delta?.type === 'thinking_delta') thinking.append(place, textIn(delta, 'thinking'))
  if (delta?.type === 'signature_delta') thinking.sign(place, textIn(delta, 'signature'))
  if (delta?.type === 'input_json_delta') calls.append(place, textIn(delta, 'partial_json'))
}

function* text(place: number, piece: string, layout: Layout): Iterable<ModelEvent> {
  if (piece === '') return
  layout.addText(place, piece)
  yield { type: 'text', text: piece }
}

/** The thinking blocks, assembled from their pieces. Their text is never part of the reply. */
class Thinking {
  private readonly blocks = new Map<number, JsonObject>()

  constructor(private readonly layout: Layout) {}

  start(place: number, block: JsonObject): void {
    this.layout.countReasoning(JSON.stringify(block))
    this.blocks.set(place, { ...block })
  }

  append(place: number, piece: string): void {
    const block = this.blocks.get(place)
    if (block !== undefined) block.thinking = `${block.thinking ?? ''}${this.layout.countReasoning(piece)}`
  }

  /** The API sends the whole signature at once. */
  sign(place: number, signature: string): void {
    const block = this.blocks.get(place)
    if (block !== undefined) block.signature = this.layout.countReasoning(signature)
  }

  /** The API refuses a block whose end, with its signature, the token limit cut off. */
  finish(isCut: boolean): void {
    for (const [place, block] of this.blocks) {
      const isUnsigned = block.type === 'thinking' && (block.signature ?? '') === ''
      if (!(isCut && isUnsigned)) this.layout.addReasoning(place, block)
    }
  }
}

/** Counts are cumulative: each event can correct the earlier ones. */
class UsageCount {
  model: unknown
  private counts: Record<string, number> = {}

  take(usage: Wire<Anthropic.Usage | Anthropic.MessageDeltaUsage> | null | undefined): void {
    for (const [name, count] of Object.entries(usage ?? {})) {
      if (typeof count === 'number') this.counts[name] = count
    }
    const thinking = usage?.output_tokens_details?.thinking_tokens
    if (typeof thinking === 'number') this.counts.thinking_tokens = thinking
  }

  get isKnown(): boolean {
    return Object.keys(this.counts).length > 0
  }

  /** The API's `input_tokens` are without those that its cache read or wrote. */
  get event(): ModelEvent {
    const { input_tokens, output_tokens, thinking_tokens } = this.counts
    const { cache_read_input_tokens: read, cache_creation_input_tokens: write } = this.counts
    return usageEvent(
      countOf(input_tokens) + countOf(read) + countOf(write),
      countOf(output_tokens),
      { cache_read_tokens: read, cache_write_tokens: write, reasoning_tokens: thinking_tokens },
      this.model,
    )
  }
}
