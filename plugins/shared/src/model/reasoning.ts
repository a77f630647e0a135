/**
 * Repeats a request once without the stored reasoning if the server does not take it back: it was made with another key, or is
 * bound to a system prompt, tools or messages that have changed since.
 *
 * Invariant: a request is repeated at most once, and only if nothing of an answer has come.
 */
import type { ModelEvent, ModelMessage, ModelRequest } from 'substrat/provider'
import { isReasoningRefusal } from './api-error.js'

export async function* askAgainWithoutReasoning(
  request: ModelRequest,
  ask: (request: ModelRequest) => AsyncIterable<ModelEvent>,
): AsyncGenerator<ModelEvent, void, undefined> {
  try {
    yield* ask(request)
    return
  } catch (error) {
    if (!isReasoningRefusal(error) || !request.messages().some(hasItems)) throw error
  }
  yield { type: 'items_refused' }
  yield* ask({ ...request, messages: () => request.messages().map(withoutItems) })
}

function hasItems(message: ModelMessage): boolean {
  return message.role === 'assistant' && (message.items ?? []).length > 0
}

function withoutItems(message: ModelMessage): ModelMessage {
  if (message.role !== 'assistant') return message
  const { items: _, ...rest } = message
  return rest
}
