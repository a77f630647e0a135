/** Tests the model server with the official clients: they understand its answers and errors. */
import Anthropic from '@anthropic-ai/sdk'
import OpenAI from 'openai'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import type { ErrorKind, ScriptedAnswer } from '../support/model-server/scenario.js'
import { type ModelServer, startModelServer } from '../support/model-server/server.js'

let server: ModelServer
beforeEach(async () => {
  server = await startModelServer()
})
afterEach(() => server.close())

const ANSWER: ScriptedAnswer = {
  text: 'Let me look: 世界 🌍.',
  tool_calls: [
    { name: 'shell', input: { command: 'ls -la' } },
    { name: 'read', input: { path: 'ä' } },
  ],
  usage: { input_tokens: 10, cached_tokens: 5, output_tokens: 20 },
  event_characters: 3,
}
const INPUTS = [{ command: 'ls -la' }, { path: 'ä' }]

describe('the client of Anthropic', () => {
  const client = () => new Anthropic({ apiKey: 'k', baseURL: server.url, maxRetries: 0 })
  const body = (messages: Anthropic.MessageParam[]): Anthropic.MessageCreateParamsStreaming => ({
    model: 'm',
    max_tokens: 100,
    stream: true,
    messages,
    tools: [{ name: 'shell', input_schema: { type: 'object' } }],
  })

  test('assembles a streamed message, and continues with its tool results', async () => {
    server.setScenario({ responses: [ANSWER, { text: 'done' }] })
    const first: Anthropic.MessageParam[] = [{ role: 'user', content: 'look' }]
    const message = await client().messages.stream(body(first)).finalMessage()
    expect(message.content[0]).toMatchObject({ type: 'text', text: ANSWER.text })
    const calls = message.content.filter((block) => block.type === 'tool_use')
    expect(calls.map(({ input }) => input)).toEqual(INPUTS)
    expect(message.stop_reason).toBe('tool_use')
    expect(message.usage).toMatchObject({ input_tokens: 10, cache_read_input_tokens: 5, output_tokens: 20 })
    const results = calls.map(({ id }) => ({ type: 'tool_result' as const, tool_use_id: id, content: 'ok' }))
    const content = calls.map(({ id, name, input }) => ({ type: 'tool_use' as const, id, name, input }))
    const next = [
      ...first,
      { role: 'assistant' as const, content },
      { role: 'user' as const, content: results },
    ]
    const answer = await client().messages.stream(body(next)).finalMessage()
    expect(answer.content).toMatchObject([{ type: 'text', text: 'done' }])
    expect(answer.stop_reason).toBe('end_turn')
  })

  test.each<[ErrorKind, new (...args: never[]) => Error, string]>([
    ['invalid', Anthropic.BadRequestError, 'invalid_request_error'],
    ['overflow', Anthropic.BadRequestError, 'invalid_request_error'],
    ['authentication', Anthropic.AuthenticationError, 'authentication_error'],
    ['permission', Anthropic.PermissionDeniedError, 'permission_error'],
    ['not_found', Anthropic.NotFoundError, 'not_found_error'],
    ['rate_limit', Anthropic.RateLimitError, 'rate_limit_error'],
    ['server_error', Anthropic.InternalServerError, 'api_error'],
    ['overloaded', Anthropic.InternalServerError, 'overloaded_error'],
  ])('recognises %s', async (error, type, name) => {
    server.setScenario({ responses: [{ fault: { error, headers: { 'retry-after': '9' } } }] })
    const thrown = await client()
      .messages.create(body([{ role: 'user', content: 'x' }]))
      .catch((e: unknown) => e)
    expect(thrown).toBeInstanceOf(type)
    expect((thrown as InstanceType<typeof Anthropic.APIError>).error).toMatchObject({ error: { type: name } })
    expect((thrown as InstanceType<typeof Anthropic.APIError>).headers?.get('retry-after')).toBe('9')
  })

  test('reports an overload within an answer', async () => {
    server.setScenario({ responses: [{ text: 'abcdefgh', fault: { error: 'overloaded', after_events: 4 } }] })
    const stream = client().messages.stream(body([{ role: 'user', content: 'x' }]))
    await expect(stream.finalMessage()).rejects.toThrow('Overloaded')
  })
})

describe('the client of OpenAI, Chat Completions', () => {
  const client = () => new OpenAI({ apiKey: 'k', baseURL: `${server.url}/v1`, maxRetries: 0 })
  const tools = [{ type: 'function' as const, function: { name: 'shell', parameters: { type: 'object' } } }]
  const create = (messages: OpenAI.Chat.ChatCompletionMessageParam[]) =>
    client().chat.completions.stream({ model: 'm', messages, tools, stream_options: { include_usage: true } })

  test('assembles a streamed completion, and continues with its tool results', async () => {
    server.setScenario({ responses: [ANSWER, { text: 'done' }] })
    const first: OpenAI.Chat.ChatCompletionMessageParam[] = [{ role: 'user', content: 'look' }]
    const completion = await create(first).finalChatCompletion()
    const message = completion.choices[0]?.message
    expect(message?.content).toBe(ANSWER.text)
    const calls = message?.tool_calls?.flatMap((call) => (call.type === 'function' ? [call] : [])) ?? []
    expect(calls.map((call) => JSON.parse(call.function.arguments))).toEqual(INPUTS)
    expect(completion.choices[0]?.finish_reason).toBe('tool_calls')
    expect(completion.usage).toMatchObject({ prompt_tokens: 15, completion_tokens: 20 })
    const results = calls.map(({ id }) => ({ role: 'tool' as const, tool_call_id: id, content: 'ok' }))
    const turn = {
      role: 'assistant' as const,
      content: message?.content ?? null,
      tool_calls: calls.map(({ id, type, function: f }) => ({
        id,
        type,
        function: { name: f.name, arguments: f.arguments },
      })),
    }
    const answer = await create([...first, turn, ...results]).finalChatCompletion()
    expect(answer.choices[0]?.message.content).toBe('done')
    expect(answer.choices[0]?.finish_reason).toBe('stop')
  })

  test.each<[ErrorKind, new (...args: never[]) => Error, string | null]>([
    ['invalid', OpenAI.BadRequestError, null],
    ['overflow', OpenAI.BadRequestError, 'context_length_exceeded'],
    ['authentication', OpenAI.AuthenticationError, 'invalid_api_key'],
    ['permission', OpenAI.PermissionDeniedError, null],
    ['not_found', OpenAI.NotFoundError, 'model_not_found'],
    ['rate_limit', OpenAI.RateLimitError, 'rate_limit_exceeded'],
    ['quota', OpenAI.RateLimitError, 'insufficient_quota'],
    ['server_error', OpenAI.InternalServerError, 'server_error'],
  ])('recognises %s', async (error, type, code) => {
    server.setScenario({ responses: [{ fault: { error } }] })
    const request = { model: 'm', stream: true as const, messages: [{ role: 'user' as const, content: 'x' }] }
    const thrown = await client()
      .chat.completions.create(request)
      .catch((e: unknown) => e)
    expect(thrown).toBeInstanceOf(type)
    expect((thrown as InstanceType<typeof OpenAI.APIError>).code).toBe(code)
  })

  test('reports an error within an answer', async () => {
    server.setScenario({
      responses: [{ text: 'abcdefgh', fault: { error: 'server_error', after_events: 2 } }],
    })
    await expect(create([{ role: 'user', content: 'x' }]).finalChatCompletion()).rejects.toThrow(
      'Internal server error',
    )
  })
})

describe('the client of OpenAI, Responses', () => {
  const client = () => new OpenAI({ apiKey: 'k', baseURL: `${server.url}/v1`, maxRetries: 0 })
  const tools = [{ type: 'function' as const, name: 'shell', parameters: { type: 'object' }, strict: false }]
  const create = (input: OpenAI.Responses.ResponseInput) =>
    client().responses.stream({ model: 'm', input, tools })

  test('assembles a streamed response, and continues with its tool results', async () => {
    server.setScenario({ responses: [ANSWER, { text: 'done' }] })
    const first: OpenAI.Responses.ResponseInput = [{ role: 'user', content: 'look' }]
    const stream = create(first)
    const deltas: string[] = []
    stream.on('response.output_text.delta', ({ delta }) => void deltas.push(delta))
    const response = await stream.finalResponse()
    expect(deltas.join('')).toBe(ANSWER.text)
    expect(response.output_text).toBe(ANSWER.text)
    const calls = response.output.flatMap((item) => (item.type === 'function_call' ? [item] : []))
    expect(calls.map((item) => JSON.parse(item.arguments))).toEqual(INPUTS)
    expect(response.usage).toMatchObject({ input_tokens: 15, output_tokens: 20 })
    const made = calls.map(({ type, call_id, name, arguments: input }) => ({
      type,
      call_id,
      name,
      arguments: input,
    }))
    const outputs = calls.map(({ call_id }) => ({
      type: 'function_call_output' as const,
      call_id,
      output: 'ok',
    }))
    const answer = await create([...first, ...made, ...outputs]).finalResponse()
    expect(answer.output_text).toBe('done')
  })

  test('recognises an overflow', async () => {
    server.setScenario({ responses: [{ fault: { error: 'overflow' } }] })
    const request = { model: 'm', stream: true as const, input: 'x' }
    const thrown = await client()
      .responses.create({ ...request, input: [{ role: 'user', content: 'x' }] })
      .catch((e: unknown) => e)
    expect(thrown).toBeInstanceOf(OpenAI.BadRequestError)
    expect((thrown as InstanceType<typeof OpenAI.APIError>).code).toBe('context_length_exceeded')
  })

  test('reports an error within an answer', async () => {
    server.setScenario({ responses: [{ text: 'abcdefgh', fault: { error: 'rate_limit', after_events: 3 } }] })
    await expect(create([{ role: 'user', content: 'x' }]).finalResponse()).rejects.toThrow(
      'Rate limit reached',
    )
  })
})

test('a history with a missing result is rejected for both clients', async () => {
  const anthropic = new Anthropic({ apiKey: 'k', baseURL: server.url, maxRetries: 0 })
  const call = { type: 'tool_use' as const, id: 'toolu_1', name: 'shell', input: {} }
  await expect(
    anthropic.messages.create({
      model: 'm',
      max_tokens: 9,
      stream: true,
      tools: [{ name: 'shell', input_schema: { type: 'object' } }],
      messages: [
        { role: 'user', content: 'x' },
        { role: 'assistant', content: [call] },
        { role: 'user', content: 'y' },
      ],
    }),
  ).rejects.toThrow('`tool_use` ids were found without `tool_result` blocks immediately after: toolu_1')
  const openai = new OpenAI({ apiKey: 'k', baseURL: `${server.url}/v1`, maxRetries: 0 })
  const made = { id: 'call_1', type: 'function' as const, function: { name: 'shell', arguments: '{}' } }
  await expect(
    openai.chat.completions.create({
      model: 'm',
      stream: true,
      messages: [
        { role: 'user', content: 'x' },
        { role: 'assistant', tool_calls: [made] },
        { role: 'user', content: 'y' },
      ],
    }),
  ).rejects.toThrow('did not have response messages: call_1')
})
