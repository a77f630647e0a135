/** Turns the events of the Responses API into events of the contract. */
import type OpenAI from 'openai'
import type { JsonObject, ModelEvent } from 'substrat/provider'
import { apiErrorOf } from '../../shared/src/model/api-error.js'
import { cutShort, streamFailure, type WireEvent } from '../../shared/src/model/ask.js'
import { type Facts, Layout } from '../../shared/src/model/layout.js'
import { refusal } from '../../shared/src/model/refusal.js'
import type { Endpoint } from '../../shared/src/model/settings.js'
import { ToolCalls } from '../../shared/src/model/tool-calls.js'
import { usageEvent } from '../../shared/src/model/usage.js'
import { countOf, numberIn, objectIn, objectsIn, textIn, type Wire } from '../../shared/src/model/wire.js'

type Events = OpenAI.Responses.ResponseStreamEvent
type Known<T extends Events['type']> = Wire<Extract<Events, { type: T }>>
type Event =
  | Known<'response.output_item.added'>
  | Known<'response.output_item.done'>
  | Known<'response.output_text.delta'>
  | Known<'response.refusal.delta'>
  | Known<'response.function_call_arguments.delta'>
  | Known<'response.function_call_arguments.done'>
  | Ended
  | Known<'response.failed'>
  | Known<'error'>
type Ended = Known<'response.completed'> | Known<'response.incomplete'>

export function isLast({ type }: WireEvent): boolean {
  const last: Events['type'][] = ['response.completed', 'response.incomplete', 'response.failed', 'error']
  return last.some((one) => one === type)
}

export async function* readResponses(
  events: AsyncIterable<WireEvent>,
  endpoint: Endpoint,
): AsyncGenerator<ModelEvent, void, undefined> {
  const calls = new ToolCalls()
  const layout = new Layout(endpoint)
  const text = new Text(layout)
  let isRefused = false
  for await (const wireEvent of events) {
    const event = wireEvent as Event
    switch (event.type) {
      case 'response.refusal.delta':
        isRefused = true
        yield* text.add(numberIn(event, 'output_index') ?? 0, textIn(event, 'delta'))
        break
      case 'response.output_text.delta':
        yield* text.add(numberIn(event, 'output_index') ?? 0, textIn(event, 'delta'))
        break
      case 'response.output_item.added':
      case 'response.output_item.done': {
        const refused = takeItem(event, calls, layout)
        // Servers that do not stream a refusal send it only in the whole item.
        if (refused !== '' && !isRefused) yield* text.add(numberIn(event, 'output_index') ?? 0, refused)
        isRefused ||= refused !== ''
        break
      }
      case 'response.function_call_arguments.delta':
        calls.append(numberIn(event, 'output_index') ?? 0, textIn(event, 'delta'))
        break
      case 'response.function_call_arguments.done':
        calls.replaceInput(numberIn(event, 'output_index') ?? 0, textIn(event, 'arguments'))
        break
      case 'response.completed':
      case 'response.incomplete':
        yield* finish(event, { calls, layout, isRefused, endpoint })
        return
      case 'response.failed':
        yield* used(event)
        throw streamFailure(endpoint, apiErrorOf({ error: objectIn(event, 'response')?.error ?? {} }))
      case 'error':
        // The API puts the error's fields into the event itself; other servers nest them.
        throw streamFailure(
          endpoint,
          apiErrorOf('error' in event ? event : { error: { code: event.code, message: event.message } }),
        )
    }
  }
  throw cutShort(endpoint)
}

/** Returns the text of a refusal if the item is a message that has one. */
function takeItem(
  event: Known<'response.output_item.added' | 'response.output_item.done'>,
  calls: ToolCalls,
  layout: Layout,
): string {
  const item = objectIn(event, 'item')
  const key = numberIn(event, 'output_index') ?? 0
  const isDone = event.type === 'response.output_item.done'
  if (item?.type === 'reasoning' && isDone) takeReasoning(key, item as JsonObject, layout)
  if (item?.type === 'message') {
    if (isDone) layout.describeText(key, factsOf(item, ['id', 'phase']))
    const parts = objectsIn(item, 'content')
    return parts.map((part) => (part.type === 'refusal' ? textIn(part, 'refusal') : '')).join('')
  }
  if (item?.type !== 'function_call') return ''
  const input = textIn(item, 'arguments')
  if (calls.has(key)) calls.replaceInput(key, input)
  else {
    calls.start(key, textIn(item, 'call_id'), textIn(item, 'name'), input)
    layout.addCall(key, factsOf(item, ['id']))
  }
  return ''
}

/**
 * Keeps reasoning that the server can read again: OpenAI's is encrypted, other servers send its text. With `store: false`, an item
 * that has only a summary refers to data that the server does not have.
 */
function takeReasoning(key: number, item: JsonObject, layout: Layout): void {
  const { encrypted_content, content } = item
  if (!encrypted_content && !(Array.isArray(content) && content.length > 0)) return
  layout.countReasoning(JSON.stringify(item))
  layout.addReasoning(key, item)
}

function factsOf<T extends object>(item: T, names: (keyof T & string)[]): Facts {
  const facts = names.map((name) => [name, textIn(item, name)] as const)
  return Object.fromEntries(facts.filter(([, value]) => value !== ''))
}

interface Gathered {
  calls: ToolCalls
  layout: Layout
  isRefused: boolean
  endpoint: Endpoint
}

function* finish(event: Ended, { calls, layout, isRefused, endpoint }: Gathered): Iterable<ModelEvent> {
  const response = objectIn(event, 'response')
  const reason = textIn(objectIn(response ?? {}, 'incomplete_details'), 'reason')
  yield* used(event)
  if (isRefused || reason === 'content_filter') throw refusal(endpoint, isRefused ? 'refusal' : reason)
  const isCut = reason === 'max_output_tokens'
  yield* layout.finish()
  for (const call of calls.finish(isCut)) yield { type: 'tool_call', call }
  yield { type: 'stop', reason: calls.count > 0 ? 'tool_calls' : isCut ? 'length' : 'end' }
}

/** A failed response is charged too. */
function* used(event: Ended | Known<'response.failed'>): Iterable<ModelEvent> {
  const response = objectIn(event, 'response')
  if (!response?.usage) return
  const { input_tokens, output_tokens, input_tokens_details, output_tokens_details } = response.usage
  const parts = {
    cache_read_tokens: input_tokens_details?.cached_tokens,
    reasoning_tokens: output_tokens_details?.reasoning_tokens,
  }
  yield usageEvent(countOf(input_tokens), countOf(output_tokens), parts, response.model)
}

/** An empty line separates the messages of a response. */
class Text {
  private latest: number | undefined

  constructor(private readonly layout: Layout) {}

  *add(item: number, piece: string): Iterable<ModelEvent> {
    if (piece === '') return
    const separator = this.latest !== undefined && this.latest !== item ? '\n\n' : ''
    this.latest = item
    this.layout.addText(item, piece, separator.length)
    yield { type: 'text', text: `${separator}${piece}` }
  }
}
