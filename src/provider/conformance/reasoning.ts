/** Conformance cases: the items of a response, such as its reasoning. */
import { isDeepStrictEqual } from 'node:util'
import type { JsonObject, ModelEvent, ModelMessage, ModelProvider } from '../contract.js'
import { type ConformanceCase, type ConformanceFixture, caseOf, demand } from './case.js'
import { askWithTool, callsOf } from './tools.js'

export function reasoningCases(
  provider: ModelProvider,
  { settings, prompt, expected, sent, received }: NonNullable<ConformanceFixture['reasons']>,
): ConformanceCase[] {
  const question: ModelMessage = { role: 'user', content: prompt }
  return [
    caseOf('the items of a response come back to the service unchanged and in order', async () => {
      const events = await askWithTool(provider, settings, prompt, [question])
      const reasoning = sent()
      demand(reasoning.length > 0, 'the service must send reasoning with its response')
      const tool_calls = callsOf(events)
      const response: ModelMessage = {
        role: 'assistant',
        content: textOf(events),
        tool_calls,
        items: storedItems(events),
      }
      const results = tool_calls.map(({ call_id, name }): ModelMessage => {
        return { role: 'tool', call_id, name, content: 'blue', is_error: false }
      })
      const history = [question, response, ...results]
      const before = JSON.stringify(history)
      // substrat may repeat a request after a crash.
      for (const _ of [1, 2]) {
        const text = textOf(await askWithTool(provider, settings, prompt, history))
        demand(
          text.includes(expected),
          `the reply to the results must contain ${JSON.stringify(expected)}: ${JSON.stringify(text.slice(0, 200))}`,
        )
        demand(
          isDeepStrictEqual(received(), reasoning),
          'the service must receive the reasoning that it sent, unchanged and in order',
        )
      }
      demand(JSON.stringify(history) === before, 'a provider must not change the messages')
    }),
  ]
}

/** As after a restart of substrat. */
function storedItems(events: ModelEvent[]): JsonObject[] {
  const items = events.flatMap((event) => (event.type === 'item' ? [event.item] : []))
  demand(items.length > 0, 'a response with reasoning must have items')
  for (const item of items)
    demand(
      typeof item === 'object' && item !== null && !Array.isArray(item),
      `an item must be an object: ${JSON.stringify(item)}`,
    )
  return JSON.parse(JSON.stringify(items)) as JsonObject[]
}

function textOf(events: ModelEvent[]): string {
  return events.map((event) => (event.type === 'text' ? event.text : '')).join('')
}
