/** Turns the chunks of Chat Completions into events of the contract. */
import type OpenAI from 'openai'
import type { ModelEvent } from 'substrat/provider'
import { apiErrorOf } from '../../shared/src/model/api-error.js'
import { cutShort, streamFailure, type WireEvent } from '../../shared/src/model/ask.js'
import { refusal } from '../../shared/src/model/refusal.js'
import type { Endpoint } from '../../shared/src/model/settings.js'
import { ToolCalls } from '../../shared/src/model/tool-calls.js'
import { countOf, numberIn, objectIn, objectsIn, textIn, type Wire } from '../../shared/src/model/wire.js'

type Chunk = Wire<OpenAI.Chat.ChatCompletionChunk> & { error?: unknown }
type CallDelta = Wire<OpenAI.Chat.ChatCompletionChunk.Choice.Delta.ToolCall>
type FinishReason = OpenAI.Chat.ChatCompletionChunk.Choice['finish_reason']

export async function* readChat(
  events: AsyncIterable<WireEvent>,
  endpoint: Endpoint,
): AsyncGenerator<ModelEvent, void, undefined> {
  const calls = new CallDeltas()
  let finish = ''
  let isRefused = false
  let usage: Chunk['usage']
  for await (const event of events) {
    const chunk = event as Chunk
    if (chunk.error !== undefined && chunk.error !== null) throw streamFailure(endpoint, apiErrorOf(chunk))
    usage = chunk.usage ?? usage
    const choice = objectsIn(chunk, 'choices')[0]
    finish = textIn(choice, 'finish_reason') || finish
    const delta = objectIn(choice ?? {}, 'delta')
    yield* text(textIn(delta, 'content'))
    const refused = textIn(delta, 'refusal')
    isRefused ||= refused !== ''
    yield* text(refused)
    for (const call of objectsIn(delta, 'tool_calls')) calls.take(call)
  }
  // Some servers omit `[DONE]`, but every complete answer has a finish reason.
  if (finish === '') throw cutShort(endpoint)
  if (usage) {
    const { prompt_tokens, completion_tokens } = usage
    yield {
      type: 'usage',
      usage: { input_tokens: countOf(prompt_tokens), output_tokens: countOf(completion_tokens) },
    }
  }
  if (isRefused || finish === ('content_filter' satisfies FinishReason))
    throw refusal(endpoint, isRefused ? 'refusal' : finish)
  // Unknown reasons end the response with its text so far.
  const isCut = finish === ('length' satisfies FinishReason)
  for (const call of calls.finish(isCut)) yield { type: 'tool_call', call }
  yield { type: 'stop', reason: calls.count > 0 ? 'tool_calls' : isCut ? 'length' : 'end' }
}

function* text(piece: string): Iterable<ModelEvent> {
  if (piece !== '') yield { type: 'text', text: piece }
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
