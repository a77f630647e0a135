/** The chunks of Chat Completions as events of the contract. */
import type OpenAI from 'openai'
import type { ModelEvent } from 'substrat/provider'
import { apiErrorOf } from '../../model-http/src/api-error.js'
import { cutShort, streamFailure, type WireEvent } from '../../model-http/src/ask.js'
import type { Endpoint } from '../../model-http/src/settings.js'
import { ToolCalls } from '../../model-http/src/tool-calls.js'
import { countOf, textOf, type Wire } from '../../model-http/src/wire.js'

type Chunk = Wire<OpenAI.Chat.ChatCompletionChunk> & { error?: unknown }
type Delta = Wire<OpenAI.Chat.ChatCompletionChunk.Choice.Delta>
type CallDelta = Wire<OpenAI.Chat.ChatCompletionChunk.Choice.Delta.ToolCall>
type FinishReason = OpenAI.Chat.ChatCompletionChunk.Choice['finish_reason']

export async function* readChat(
  events: AsyncIterable<WireEvent>,
  endpoint: Endpoint,
): AsyncGenerator<ModelEvent, void, undefined> {
  const calls = new CallDeltas()
  let finish: FinishReason | undefined
  let usage: Chunk['usage']
  for await (const event of events) {
    const chunk = event as Chunk
    if (chunk.error !== undefined && chunk.error !== null) throw streamFailure(endpoint, apiErrorOf(chunk))
    usage = chunk.usage ?? usage
    const choice = chunk.choices?.[0]
    finish = choice?.finish_reason ?? finish
    yield* textIn(choice?.delta)
    for (const call of choice?.delta?.tool_calls ?? []) calls.take(call)
  }
  // Some servers end without `[DONE]`, but none without a reason.
  if (!finish) throw cutShort(endpoint)
  // Filtered and unknown reasons end the response with the text that it gave.
  const isCut = finish === 'length'
  for (const call of calls.finish(isCut)) yield { type: 'tool_call', call }
  if (usage) {
    const { prompt_tokens, completion_tokens } = usage
    yield {
      type: 'usage',
      usage: { input_tokens: countOf(prompt_tokens), output_tokens: countOf(completion_tokens) },
    }
  }
  yield { type: 'stop', reason: calls.count > 0 ? 'tool_calls' : isCut ? 'length' : 'end' }
}

function* textIn(delta: Delta | null | undefined): Iterable<ModelEvent> {
  for (const text of [textOf(delta?.content), textOf(delta?.refusal)]) {
    if (text !== '') yield { type: 'text', text }
  }
}

/** Pieces are told apart by their index; some servers give each call the same one, but a new id. */
class CallDeltas extends ToolCalls {
  private key = new Map<number, string>()

  take({ index, id, function: called }: CallDelta): void {
    const position = index ?? 0
    const key = this.key.get(position)
    if (key === undefined || (id && id !== this.idOf(key) && called?.name)) {
      const fresh = `${position}/${this.count}`
      this.key.set(position, fresh)
      this.start(fresh, id ?? undefined, called?.name ?? undefined, textOf(called?.arguments))
    } else {
      this.append(key, textOf(called?.arguments))
    }
  }
}
