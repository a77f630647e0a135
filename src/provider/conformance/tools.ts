/** Conformance cases: tool calls of a model. */

import type {
  ModelEvent,
  ModelMessage,
  ModelProvider,
  ProviderSettings,
  ToolCall,
  ToolDefinition,
} from '../contract.js'
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
  description: 'Returns the colour at a place. Call it once; it knows every place.',
  input_schema: { type: 'object', properties: { place: { type: 'string' } }, required: ['place'] },
}

export function toolCases(
  provider: ModelProvider,
  { settings, prompt, expected }: ToolFixture,
): ConformanceCase[] {
  const ask = (messages: ModelMessage[]): Promise<ModelEvent[]> =>
    askWithTool(provider, settings, prompt, messages)
  const question: ModelMessage = { role: 'user', content: prompt }
  return [
    caseOf('a response has complete tool calls with unique ids, and stops with tool_calls', async () => {
      callsOf(await ask([question]))
    }),
    caseOf('the model continues from the results of its calls', async () => {
      const tool_calls = callsOf(await ask([question]))
      const results = tool_calls.map(({ call_id, name }): ModelMessage => {
        return { role: 'tool', call_id, name, content: 'blue', is_error: false }
      })
      const events = await ask([question, { role: 'assistant', content: '', tool_calls }, ...results])
      const text = events.map((event) => (event.type === 'text' ? event.text : '')).join('')
      demand(
        text.includes(expected),
        `the reply to the results must contain ${JSON.stringify(expected)}: ${JSON.stringify(text.slice(0, 200))}`,
      )
    }),
    caseOf('the model continues after a failed call', async () => {
      const tool_calls = callsOf(await ask([question]))
      const results = tool_calls.map(({ call_id, name }): ModelMessage => {
        return { role: 'tool', call_id, name, content: 'it is too dark', is_error: true }
      })
      const events = await ask([question, { role: 'assistant', content: '', tool_calls }, ...results])
      demand(events.at(-1)?.type === 'stop', 'a response must end with its stop')
    }),
  ]
}

export function askWithTool(
  provider: ModelProvider,
  settings: ProviderSettings,
  prompt: string,
  messages: ModelMessage[],
): Promise<ModelEvent[]> {
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

/** Checks that a response has calls, and returns them. */
export function callsOf(events: ModelEvent[]): ToolCall[] {
  const calls = events.flatMap((event) => (event.type === 'tool_call' ? [event.call] : []))
  demand(calls.length > 0, 'the response must call a tool')
  for (const { call_id, name, input } of calls) {
    demand(typeof call_id === 'string' && call_id !== '', 'a call must have an id')
    demand(name === LOOK.name, `a call must name the offered tool: ${JSON.stringify(name)}`)
    demand(
      typeof input === 'object' && input !== null && !Array.isArray(input),
      `the input of a call must be an object: ${JSON.stringify(input)}`,
    )
  }
  demand(new Set(calls.map(({ call_id }) => call_id)).size === calls.length, 'each call must have its own id')
  const stop = events.at(-1)
  demand(stop?.type === 'stop' && stop.reason === 'tool_calls', 'the response must stop with tool_calls')
  return calls
}
