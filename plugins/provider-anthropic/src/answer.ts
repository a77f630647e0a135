/** The events of the Messages API as events of the contract. */
import type Anthropic from '@anthropic-ai/sdk'
import type { ModelEvent, Usage } from 'substrat/provider'
import { apiErrorOf } from '../../model-http/src/api-error.js'
import { cutShort, streamFailure, type WireEvent } from '../../model-http/src/ask.js'
import type { Endpoint } from '../../model-http/src/settings.js'
import { ToolCalls } from '../../model-http/src/tool-calls.js'
import { countOf, textOf, type Wire } from '../../model-http/src/wire.js'

type Event = Wire<Anthropic.RawMessageStreamEvent> | { type: 'error' } | { type: 'ping' }

export function isLast({ type }: WireEvent): boolean {
  return type === ('message_stop' satisfies Anthropic.RawMessageStreamEvent['type'])
}

export async function* readAnswer(
  events: AsyncIterable<WireEvent>,
  endpoint: Endpoint,
): AsyncGenerator<ModelEvent, void, undefined> {
  const calls = new ToolCalls()
  const usage = new UsageCount()
  let stop: Anthropic.StopReason | null | undefined
  let isWhole = false
  for await (const wireEvent of events) {
    const event = wireEvent as Event
    switch (event.type) {
      case 'message_start':
        usage.take(event.message?.usage)
        break
      case 'content_block_start':
        yield* begin(event, calls)
        break
      case 'content_block_delta':
        yield* add(event, calls)
        break
      case 'message_delta':
        usage.take(event.usage)
        stop = event.delta?.stop_reason ?? stop
        break
      case 'message_stop':
        isWhole = true
        break
      case 'error':
        throw streamFailure(endpoint, apiErrorOf(event))
    }
  }
  if (!isWhole) throw cutShort(endpoint)
  // Refused, paused and unknown reasons end the response with the text that it gave.
  const isCut = stop === 'max_tokens' || stop === 'model_context_window_exceeded'
  for (const call of calls.finish(isCut)) yield { type: 'tool_call', call }
  yield { type: 'usage', usage: usage.total }
  yield { type: 'stop', reason: calls.count > 0 ? 'tool_calls' : isCut ? 'length' : 'end' }
}

function* begin(
  { index, content_block: block }: Wire<Anthropic.RawContentBlockStartEvent>,
  calls: ToolCalls,
): Iterable<ModelEvent> {
  if (block?.type === 'text') yield* text(block.text)
  if (block?.type === 'tool_use') {
    // Some compatible servers give the whole input here, where the API gives `{}`.
    const isGiven =
      typeof block.input === 'object' && block.input !== null && Object.keys(block.input).length > 0
    calls.start(
      index ?? 0,
      block.id ?? undefined,
      block.name ?? undefined,
      isGiven ? JSON.stringify(block.input) : '',
    )
  }
}

function* add(
  { index, delta }: Wire<Anthropic.RawContentBlockDeltaEvent>,
  calls: ToolCalls,
): Iterable<ModelEvent> {
  if (delta?.type === 'text_delta') yield* text(delta.text)
  if (delta?.type === 'input_json_delta') calls.append(index ?? 0, textOf(delta.partial_json))
}

function* text(piece: unknown): Iterable<ModelEvent> {
  if (textOf(piece) !== '') yield { type: 'text', text: textOf(piece) }
}

/** Counts are cumulative: each event may correct the ones before it. */
class UsageCount {
  private counts: Record<string, number> = {}

  take(usage: Wire<Anthropic.Usage | Anthropic.MessageDeltaUsage> | null | undefined): void {
    for (const [name, count] of Object.entries(usage ?? {})) {
      if (typeof count === 'number') this.counts[name] = count
    }
  }

  get total(): Usage {
    const count = (name: keyof Anthropic.Usage): number => countOf(this.counts[name])
    return {
      input_tokens:
        count('input_tokens') + count('cache_creation_input_tokens') + count('cache_read_input_tokens'),
      output_tokens: count('output_tokens'),
    }
  }
}
