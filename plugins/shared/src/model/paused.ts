/**
 * Continues a response that the server paused: it is sent back, and the server adds to it. The parts become one response.
 *
 * Invariants:
 * - A response is continued at most PAUSES_MAX times. Then it ends as incomplete.
 * - It ends as incomplete too if two parts in a row have no text: without text nothing can be sent back, so the same request would be
 *   paid again and again.
 */
import type { JsonObject, ModelEvent, ModelRequest, Usage } from 'substrat/provider'
import { isBlank } from './history.js'
import { joinedItems } from './layout.js'

/** The response is not over. The contract has no such event. */
export interface Paused {
  type: 'paused'
  /** The server's word for it. */
  word: string
}

const PAUSES_MAX = 10

export async function* continuePaused(
  request: ModelRequest,
  ask: (request: ModelRequest) => AsyncIterable<ModelEvent | Paused>,
): AsyncGenerator<ModelEvent, void, undefined> {
  const parts: Part[] = []
  for (;;) {
    const part: Part = { text: '', items: [] }
    parts.push(part)
    let paused: Paused | undefined
    for await (const event of ask(withParts(request, parts.slice(0, -1)))) {
      if (event.type === 'paused') paused = event
      else if (event.type === 'item') part.items.push(event.item)
      else {
        // The items come before the end, as in a response that was not paused.
        if (event.type === 'tool_call' || event.type === 'stop') yield* itemEvents(parts)
        if (event.type === 'text') part.text += event.text
        if (event.type === 'usage') part.usage = event.usage
        yield event.type === 'usage' ? { ...event, usage: sumOf(parts) } : event
      }
    }
    if (paused === undefined) return
    const hasStalled = parts.length > 1 && parts.slice(-2).every(({ text }) => isBlank(text))
    if (parts.length <= PAUSES_MAX && !hasStalled) continue
    yield* itemEvents(parts)
    yield { type: 'stop', reason: 'end', incomplete: paused.word }
    return
  }
}

interface Part {
  text: string
  items: JsonObject[]
  usage?: Usage
}

function withParts(request: ModelRequest, parts: Part[]): ModelRequest {
  const content = textOf(parts)
  if (parts.length === 0) return request
  const items = joinedItems(parts)
  return {
    ...request,
    // The API refuses a last message that ends in white space.
    messages: () => [
      ...request.messages(),
      { role: 'assistant', content: content.trimEnd(), tool_calls: [], ...(items.length > 0 && { items }) },
    ],
  }
}

function* itemEvents(parts: Part[]): Iterable<ModelEvent> {
  for (const item of joinedItems(parts)) yield { type: 'item', item }
  for (const part of parts) part.items = []
}

function textOf(parts: Part[]): string {
  return parts.map(({ text }) => text).join('')
}

function sumOf(parts: Part[]): Usage {
  const sum: Record<string, number> = {}
  for (const { usage } of parts)
    for (const [name, count] of Object.entries(usage ?? {})) sum[name] = (sum[name] ?? 0) + count
  return sum as unknown as Usage
}
