/** Turns the chunks of Chat Completions into events of the contract. */
import type OpenAI from 'openai'
import type { ModelEvent } from 'substrat/provider'
import { apiErrorOf } from '../../shared/src/model/api-error.js'
import { cutShort, streamFailure, type WireEvent } from '../../shared/src/model/ask.js'
import { Layout } from '../../shared/src/model/layout.js'
import { refusal } from '../../shared/src/model/refusal.js'
import type { Endpoint } from '../../shared/src/model/settings.js'
import { ToolCalls } from '../../shared/src/model/tool-calls.js'
import { usageEvent } from '../../shared/src/model/usage.js'
import { countOf, numberIn, objectIn, objectsIn, textIn, type Wire } from '../../shared/src/model/wire.js'

/** A field of several servers, unknown to OpenAI. */
interface Reasoning {
  reasoning_content?: string | null
}

type Chunk = Wire<OpenAI.Chat.ChatCompletionChunk> & { error?: unknown }
type CallDelta = Wire<OpenAI.Chat.ChatCompletionChunk.Choice.Delta.ToolCall>
type FinishReason = OpenAI.Chat.ChatCompletionChunk.Choice['finish_reason']

export async function* readChat(
  events: AsyncIterable<WireEvent>,
  endpoint: Endpoint,
): AsyncGenerator<ModelEvent, void, undefined> {
  const calls = new CallDeltas()
  const layout = new Layout(endpoint)
  let reasoning = ''
  let finish = ''
  let isRefused = false
  let usage: Chunk['usage']
  let model: unknown
  let failed: Error | undefined
  for await (const event of events) {
    const chunk = event as Chunk
    usage = chunk.usage ?? usage
    model = chunk.model || model
    if (chunk.error !== undefined && chunk.error !== null) {
      failed = streamFailure(endpoint, apiErrorOf(chunk))
      break
    }
    const choice = objectsIn(chunk, 'choices')[0]
    finish = textIn(choice, 'finish_reason') || finish
    const delta = objectIn(choice ?? {}, 'delta')
    reasoning += layout.countReasoning(textIn(delta as Reasoning | undefined, 'reasoning_content'))
    yield* text(textIn(delta, 'content'), layout)
    const refused = textIn(delta, 'refusal')
    isRefused ||= refused !== ''
    yield* text(refused, layout)
    for (const call of objectsIn(delta, 'tool_calls')) calls.take(call)
  }
  if (usage) {
    const { prompt_tokens, completion_tokens, prompt_tokens_details, completion_tokens_details } = usage
    const parts = {
      cache_read_tokens: prompt_tokens_details?.cached_tokens,
      reasoning_tokens: completion_tokens_details?.reasoning_tokens,
    }
    yield usageEvent(countOf(prompt_tokens), countOf(completion_tokens), parts, model)
  }
  // A request that failed is counted too.
  if (failed !== undefined) throw failed
  // Some servers omit `[DONE]`, but every complete answer has a finish reason.
  if (finish === '') throw cutShort(endpoint)
  if (isRefused || finish === ('content_filter' satisfies FinishReason))
    throw refusal(endpoint, isRefused ? 'refusal' : finish)
  // Unknown reasons end the response with its text so far.
  const isCut = finish === ('length' satisfies FinishReason)
  const made = calls.finish(isCut)
  // A message has one text and one list of calls, so the order is always the same.
  for (const at of made.keys()) layout.addCall(CALLS_AT + at)
  if (reasoning !== '') layout.addReasoning(REASONING_AT, { reasoning_content: reasoning })
  yield* layout.finish()
  for (const call of made) yield { type: 'tool_call', call }
  yield { type: 'stop', reason: calls.count > 0 ? 'tool_calls' : isCut ? 'length' : 'end' }
}

const [REASONING_AT, TEXT_AT, CALLS_AT] = [0, 1, 2]

function* text(piece: string, layout: Layout): Iterable<ModelEvent> {
  if (piece === '') return
  layout.addText(TEXT_AT, piece)
  yield { type: 'text', text: piece }
}

/** Pieces belong to the call with their index. Some servers give every call the same index, but a new id. */
class CallDeltas extends ToolCalls {
  private key = new Map<number, string>()

  take(delta: CallDelta): void {
    const position = numberIn(delta, 'index') ?? 0
    const id = textIn(delta, 'id')
    const called = objectIn(delta, 'function')
    const name = textIn(called, 'name')
    const input = textIn(called, 'arguments')
    const key = this.key.get(position)
    if (key === undefined || (id !== '' && id !== this.idOf(key) && name !== '')) {
      const fresh = `${position}/${this.count}`
      this.key.set(position, fresh)
      this.start(fresh, id, name, input)
    } else {
      this.append(key, input)
    }
  }
}
