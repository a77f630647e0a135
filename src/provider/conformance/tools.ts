/** The cases of the conformance suite about tool calls. */

import type { ModelEvent, ModelMessage, ModelProvider, ToolCall, ToolDefinition } from '../contract.js'
import {
  type ConformanceCase,
  caseOf,
  collect,
  demand,
  MODEL_EVENTS,
  neverSignal,
  type ToolFixture,
} from './case.js'

const LOOK: ToolDefinition = {
  name: 'look',
  description: 'Says what colour there is at a place. Call it once; it knows every place.',
  input_schema: { type: 'object', properties: { place: { type: 'string' } }, required: ['place'] },
}

export function toolCases(
  provider: ModelProvider,
  { settings, prompt, expected }: ToolFixture,
): ConformanceCase[] {
  const ask = (messages: ModelMessage[]): Promise<ModelEvent[]> => {
    const request = {
      ...settings,
      prompt,
      messages: () => messages,
      responses_before: 0,
      attempt: 1,
      tools: [LOOK],
    }
    return collect(provider.complete(request, { signal: neverSignal() }), MODEL_EVENTS)
  }
  const question: ModelMessage = { role: 'user', content: prompt }
  return [
    caseOf(
      'a response with tool calls has whole calls, each with an id of its own, and stops with tool_calls',
      async () => {
        callsOf(await ask([question]))
      },
    ),
    caseOf('it goes on from the results of its calls', async () => {
      const tool_calls = callsOf(await ask([question]))
      const results = tool_calls.map(({ call_id, name }): ModelMessage => {
        return { role: 'tool', call_id, name, content: 'blue', is_error: false }
      })
      const events = await ask([question, { role: 'assistant', content: '', tool_calls }, ...results])
      const text = events.map((event) => (event.type === 'text' ? event.text : '')).join('')
      demand(
        text.includes(expected),
        `the reply to the results has ${JSON.stringify(expected)}: ${JSON.stringify(text.slice(0, 200))}`,
      )
    }),
    caseOf('it goes on from a call that failed', async () => {
      const tool_calls = callsOf(await ask([question]))
      const results = tool_calls.map(({ call_id, name }): ModelMessage => {
        return { role: 'tool', call_id, name, content: 'it is too dark', is_error: true }
      })
      const events = await ask([question, { role: 'assistant', content: '', tool_calls }, ...results])
      demand(events.at(-1)?.type === 'stop', 'a response ends with its stop')
    }),
  ]
}

/** The calls of a response that must have some. */
function callsOf(events: ModelEvent[]): ToolCall[] {
  const calls = events.flatMap((event) => (event.type === 'tool_call' ? [event.call] : []))
  demand(calls.length > 0, 'it called a tool')
  for (const { call_id, name, input } of calls) {
    demand(typeof call_id === 'string' && call_id !== '', 'a call has an id')
    demand(name === LOOK.name, `it called the tool that it was offered: ${JSON.stringify(name)}`)
    demand(
      typeof input === 'object' && input !== null && !Array.isArray(input),
      `the input of a call is an object: ${JSON.stringify(input)}`,
    )
  }
  demand(new Set(calls.map(({ call_id }) => call_id)).size === calls.length, 'each call has an id of its own')
  const stop = events.at(-1)
  demand(stop?.type === 'stop' && stop.reason === 'tool_calls', 'it stops with tool_calls')
  return calls
}
