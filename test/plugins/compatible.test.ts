/** Answers of compatible servers that differ from the real APIs, written out byte by byte. */
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { expect, test } from 'vitest'
import type { ModelEvent, ModelProvider, ProviderFailure } from '../../src/provider/contract.js'
import { anthropic, callsOf, collect, failureOf, openai, requestFor, textOf } from './support.js'

const chatChunk = (delta: object, finish_reason: string | null = null) => ({
  choices: [{ delta, finish_reason }],
})
const chatCall = (index: number, id: string | undefined, name: string | undefined, input: string) =>
  chatChunk({ tool_calls: [{ index, id, function: { name, arguments: input } }] })

test('chat: parallel calls with the same index 0 are distinguished by their ids', async () => {
  const events = await chat([
    chatCall(0, 'a', 'shell', '{"command":'),
    chatCall(0, undefined, undefined, '"ls"}'),
    chatCall(0, 'b', 'shell', '{"command":"pwd"}'),
    chatChunk({}, 'tool_calls'),
  ])
  expect(callsOf(events)).toEqual([
    { call_id: 'a', name: 'shell', input: { command: 'ls' } },
    { call_id: 'b', name: 'shell', input: { command: 'pwd' } },
  ])
})

test('chat: calls without an id, or with the same one, get new ids', async () => {
  const events = await chat([
    chatCall(0, undefined, 'one', '{}'),
    chatCall(1, 'x', 'two', '{}'),
    chatCall(2, 'x', 'three', '{}'),
    chatChunk({}, 'stop'),
  ])
  expect(new Set(callsOf(events).map(({ call_id }) => call_id)).size).toBe(3)
  expect(callsOf(events).map(({ name }) => name)).toEqual(['one', 'two', 'three'])
  expect(events.at(-1)).toEqual({ type: 'stop', reason: 'tool_calls' })
})

test('chat: a call without a name is an invalid response', async () => {
  const { failure } = await failureOf(() => chat([chatCall(0, 'a', '', '{}'), chatChunk({}, 'stop')]))
  expect(failure.type).toBe('invalid_response')
})

test('chat: an answer without [DONE], with usage in its last choice, reasoning, nulls and comments is read', async () => {
  const events = await chat(
    [
      chatChunk({ role: 'assistant', content: null, reasoning_content: 'hm', tool_calls: null }),
      chatChunk({ content: 'yes' }),
      { ...chatChunk({}, 'stop'), usage: { prompt_tokens: 3, completion_tokens: 4 } },
    ],
    { before: ': OPENROUTER PROCESSING\r\n\r\n', done: '' },
  )
  expect(events).toEqual([
    { type: 'text', text: 'yes' },
    { type: 'usage', usage: { input_tokens: 3, output_tokens: 4 } },
    { type: 'item', item: { server: expect.any(String), reasoning: { reasoning_content: 'hm' } } },
    { type: 'item', item: { text: [0, 3] } },
    { type: 'stop', reason: 'end' },
  ])
})

test('chat: a filtered answer is a refusal, after its text', async () => {
  const { said, failure, message } = await refusedBy(openai, { api: 'chat' }, [
    chatChunk({ content: 'so far' }),
    chatChunk({}, 'content_filter'),
  ])
  expect([said, failure.type]).toEqual(['so far', 'refused'])
  expect(message).toMatch(/^127\.0\.0\.1:\d+ refused to answer \(content_filter\)$/)
})

test('chat: the calls of a filtered answer are not made', async () => {
  const { failure } = await failureOf(() =>
    chat([chatCall(0, 'a', 'shell', '{}'), chatChunk({}, 'content_filter')]),
  )
  expect(failure.type).toBe('refused')
})

test('chat: [DONE] without a finish reason ends an answer, which is marked', async () => {
  const events = await chat([chatChunk({ content: 'all of it' })])
  expect(events).toEqual([
    { type: 'text', text: 'all of it' },
    { type: 'stop', reason: 'end', incomplete: 'no stop reason' },
  ])
})

test.each([
  [502, 'server_error'],
  [429, 'rate_limit'],
  [400, 'invalid'],
])('chat: status %i as the code of an error within the answer has type %s', async (code, type) => {
  const error = { error: { code, message: 'upstream' }, choices: [{ delta: {}, finish_reason: 'error' }] }
  const { failure } = await failureOf(() => chat([chatChunk({ content: 'so far' }), error]))
  expect(failure.type).toBe(type)
})

test('chat: an error in the body of status 200 is a failure', async () => {
  const body = JSON.stringify({ error: { message: 'Rate limit', code: 429 } })
  const { failure } = await failureOf(() => answer(openai, { api: 'chat' }, body, 'application/json'))
  expect(failure.type).toBe('rate_limit')
})

test('responses: the input of a call can come only in pieces', async () => {
  const item = { type: 'function_call', call_id: 'a', name: 'shell' }
  const events = await answer(
    openai,
    { api: 'responses' },
    sse([
      { type: 'response.output_item.added', output_index: 0, item },
      { type: 'response.function_call_arguments.delta', output_index: 0, delta: '{"command":' },
      { type: 'response.function_call_arguments.delta', output_index: 0, delta: '"ls"}' },
      { type: 'response.completed', response: {} },
    ]),
  )
  expect(callsOf(events)).toEqual([{ call_id: 'a', name: 'shell', input: { command: 'ls' } }])
})

test('responses: several messages stay separate, and unknown events and items are ignored', async () => {
  const text = (output_index: number, delta: string) => ({
    type: 'response.output_text.delta',
    output_index,
    delta,
  })
  const events = await answer(
    openai,
    { api: 'responses' },
    sse([
      { type: 'response.reasoning_summary_text.delta', output_index: 0, delta: 'hm' },
      { type: 'response.output_item.done', output_index: 0, item: { type: 'reasoning', id: 'rs' } },
      text(1, 'first'),
      text(1, ' one'),
      text(2, 'second'),
      { type: 'response.completed', response: { usage: { input_tokens: 1, output_tokens: 2 } } },
    ]),
  )
  expect(textOf(events)).toBe('first one\n\nsecond')
})

test('responses: a failed response is a failure', async () => {
  const response = { error: { code: 'server_error', message: 'it broke' } }
  const failed = await failureOf(() =>
    answer(openai, { api: 'responses' }, sse([{ type: 'response.failed', response }])),
  )
  expect(failed.failure.type).toBe('server_error')
  expect(failed.message).toContain('it broke')
})

test('responses: a filtered response is a refusal, after its text', async () => {
  const { said, failure, message } = await refusedBy(openai, { api: 'responses' }, [
    { type: 'response.output_text.delta', output_index: 0, delta: 'so far' },
    { type: 'response.incomplete', response: { incomplete_details: { reason: 'content_filter' } } },
  ])
  expect([said, failure.type]).toEqual(['so far', 'refused'])
  expect(message).toContain('refused to answer (content_filter)')
})

test('responses: a refusal can be only in the whole item', async () => {
  const item = { type: 'message', content: [{ type: 'refusal', refusal: 'No.' }] }
  const { said, failure } = await refusedBy(openai, { api: 'responses' }, [
    { type: 'response.output_item.done', output_index: 0, item },
    { type: 'response.completed', response: {} },
  ])
  expect([said, failure.type]).toEqual(['No.', 'refused'])
})

test('messages: a refusal names the category that the API sends', async () => {
  const { said, failure, message } = await refusedBy(anthropic, {}, [
    { type: 'content_block_start', index: 0, content_block: { type: 'text', text: 'First' } },
    {
      type: 'message_delta',
      delta: { stop_reason: 'refusal', stop_details: { type: 'refusal', category: 'cyber' } },
    },
    { type: 'message_stop' },
  ])
  expect([said, failure.type]).toEqual(['First', 'refused'])
  expect(message).toContain('refused to answer (refusal: cyber)')
})

test.each([
  [400, { code: 'content_filter', message: "triggering Azure OpenAI's content management policy" }],
  [
    400,
    { code: 'invalid_prompt', message: 'Your prompt was flagged as potentially violating our usage policy.' },
  ],
  [403, { code: 403, message: 'Your input was flagged for "violence"' }],
  [400, { type: 'invalid_request_error', message: 'Output blocked by content filtering policy' }],
])('a request rejected for its content (%i %o) is a refusal', async (status, error) => {
  const { failure } = await failureOf(() =>
    answer(openai, { api: 'chat' }, JSON.stringify({ error }), 'application/json', status),
  )
  expect(failure).toEqual({ type: 'refused' })
})

test('messages: a call with its whole input at the start, reasoning, and a full context window are read', async () => {
  const events = await answer(
    anthropic,
    {},
    sse([
      { type: 'message_start', message: { usage: { input_tokens: 5, output_tokens: 1 } } },
      { type: 'content_block_start', index: 0, content_block: { type: 'thinking', thinking: '' } },
      { type: 'content_block_delta', index: 0, delta: { type: 'thinking_delta', thinking: 'hm' } },
      { type: 'content_block_start', index: 1, content_block: { type: 'text', text: 'now' } },
      {
        type: 'content_block_start',
        index: 2,
        content_block: { type: 'tool_use', id: 'a', name: 'shell', input: { command: 'ls' } },
      },
      { type: 'message_delta', delta: { stop_reason: 'tool_use' }, usage: { output_tokens: 9 } },
      { type: 'message_stop' },
    ]),
  )
  expect(events).toEqual([
    { type: 'text', text: 'now' },
    { type: 'usage', usage: { input_tokens: 5, output_tokens: 9 } },
    { type: 'item', item: { server: expect.any(String), reasoning: { type: 'thinking', thinking: 'hm' } } },
    { type: 'item', item: { text: [0, 3] } },
    { type: 'item', item: { call: 0 } },
    { type: 'tool_call', call: { call_id: 'a', name: 'shell', input: { command: 'ls' } } },
    { type: 'stop', reason: 'tool_calls' },
  ])
  const full = await answer(
    anthropic,
    {},
    sse([
      { type: 'message_delta', delta: { stop_reason: 'model_context_window_exceeded' } },
      { type: 'message_stop' },
    ]),
  )
  expect(full.at(-1)).toEqual({ type: 'stop', reason: 'length' })
})

test('an endless event is not read forever', async () => {
  const { failure, message } = await failureOf(() =>
    answer(openai, { api: 'chat' }, `data: ${'x'.repeat(17_000_000)}`),
  )
  expect(failure.type).toBe('invalid_response')
  expect(message).toContain('sent an event of more than')
})

function chat(chunks: object[], { before = '', done = 'data: [DONE]\n\n' } = {}): Promise<ModelEvent[]> {
  return answer(openai, { api: 'chat' }, before + sse(chunks) + done)
}

/** The text before the refusal, and the refusal. */
async function refusedBy(
  provider: ModelProvider,
  options: Record<string, string>,
  events: object[],
): Promise<{ said: string } & ProviderFailure> {
  const seen: ModelEvent[] = []
  const failed = await failureOf(() => answer(provider, options, sse(events), 'text/event-stream', 200, seen))
  return Object.assign(failed, { said: textOf(seen) })
}

function sse(events: object[]): string {
  return events.map((event) => `data: ${JSON.stringify(event)}\n\n`).join('')
}

async function answer(
  provider: ModelProvider,
  options: Record<string, string>,
  body: string,
  kind = 'text/event-stream',
  status = 200,
  events: ModelEvent[] = [],
): Promise<ModelEvent[]> {
  const server = createServer((_, response) => response.writeHead(status, { 'content-type': kind }).end(body))
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const { port } = server.address() as AddressInfo
  try {
    return await collect(
      provider,
      requestFor({ base_url: `http://127.0.0.1:${port}`, ...options }),
      undefined,
      events,
    )
  } finally {
    server.closeAllConnections()
    server.close()
  }
}
