/** Tests of the model server itself: which requests it rejects, and how it continues a conversation. */
import { afterAll, describe, expect, test } from 'vitest'
import { startServerProcess } from '../support/model-server/process.js'
import { type Api, startModelServer } from '../support/model-server/server.js'
import { assistant, call, collect, openai, requestFor, result, textOf, user } from './support.js'

const server = await startModelServer()
afterAll(() => server.close())

const PATHS: Record<Api, string> = {
  messages: '/v1/messages',
  responses: '/v1/responses',
  chat: '/v1/chat/completions',
}

async function statusOf(api: Api, body: object): Promise<[status: number, message: string]> {
  const response = await fetch(`${server.url}${PATHS[api]}`, {
    method: 'POST',
    headers: { 'content-type': 'application/json', 'anthropic-version': '2023-06-01' },
    body: JSON.stringify({ model: 'm', stream: true, ...body }),
  })
  const text = await response.text()
  return [response.status, response.ok ? '' : String(JSON.parse(text).error.message)]
}

describe('messages', () => {
  const tools = [{ name: 't', input_schema: { type: 'object' } }]
  const use = (id: string, more = {}) => ({ type: 'tool_use', id, name: 't', input: {}, ...more })
  const res = (id: string, more = {}) => ({ type: 'tool_result', tool_use_id: id, content: 'ok', ...more })
  const u = (...content: unknown[]) => ({ role: 'user', content })
  const a = (...content: unknown[]) => ({ role: 'assistant', content })
  const hi = { role: 'user', content: 'hi' }
  const text = (value: string) => ({ type: 'text', text: value })
  const ask = (messages: unknown[], more = {}) =>
    statusOf('messages', { max_tokens: 9, messages, tools, ...more })

  test.each([
    ['a question', [hi]],
    ['calls and their results', [hi, a(text('so'), use('1'), use('2')), u(res('1'), res('2'), text('and'))]],
    ['an error with a text', [hi, a(use('1')), u(res('1', { is_error: true }))]],
  ])('accepts %s', async (_, messages) => {
    expect(await ask(messages)).toEqual([200, ''])
  })

  test.each([
    ['a call without a result', [hi, a(use('1')), hi], 'without `tool_result` blocks immediately after: 1'],
    ['a call at the end', [hi, a(use('1'))], 'prefill'],
    ['one result of two', [hi, a(use('1'), use('2')), u(res('1'))], 'immediately after: 2'],
    ['a result a message too late', [hi, a(use('1')), hi, a(text('x')), u(res('1'))], 'immediately after: 1'],
    ['a result without a call', [hi, a(text('x')), u(res('1'))], 'unexpected `tool_use_id`'],
    ['a result at the start', [u(res('1'))], 'unexpected `tool_use_id`'],
    ['a result twice', [hi, a(use('1')), u(res('1'), res('1'))], 'single result'],
    ['text before a result', [hi, a(use('1')), u(text('x'), res('1'))], 'come first'],
    ['an id used twice', [hi, a(use('1')), u(res('1')), a(use('1')), u(res('1'))], 'unique'],
    ['an id with invalid characters', [hi, a(use('a:1')), u(res('a:1'))], 'tool_use.id'],
    ['an input that is not an object', [hi, a(use('1', { input: '{}' })), u(res('1'))], 'tool_use.input'],
    ['a call of the user', [u(use('1'))], 'not allowed'],
    ['an empty message', [u()], 'non-empty'],
    ['an empty text', [u(text(''))], 'non-whitespace'],
    ['a blank text', [hi, a(text(' ')), hi], 'non-whitespace'],
    ['two messages of one role', [hi, hi], 'roles'],
    ['a first message of the model', [a(text('x')), hi], 'first message'],
    ['an unknown role', [{ role: 'system', content: 'x' }, hi], 'first message'],
    ['an error without a text', [hi, a(use('1')), u(res('1', { content: '', is_error: true }))], 'is_error'],
    ['half of a surrogate pair', [u(text('\ud83d'))], 'surrogate'],
    ['nothing', [], 'at least one'],
  ])('rejects %s', async (_, messages, words) => {
    const [status, message] = await ask(messages)
    expect(message).toContain(words)
    expect(status).toBe(400)
  })

  test.each([
    [
      'calls without tools',
      { tools: undefined, messages: [hi, a(use('1')), u(res('1'))] },
      'must define tools',
    ],
    ['no limit', { max_tokens: undefined }, 'max_tokens'],
    ['an unknown field', { frequency_penalty: 1 }, 'Extra inputs'],
    ['a schema that is not an object', { tools: [{ name: 't', input_schema: {} }] }, 'input_schema'],
    ['two tools of one name', { tools: [...tools, ...tools] }, 'unique'],
  ])('rejects %s', async (_, more, words) => {
    const [status, message] = await ask([hi], more)
    expect(message).toContain(words)
    expect(status).toBe(400)
  })
})

describe('chat', () => {
  const tool_call = (id: string, more = {}) => ({
    id,
    type: 'function',
    function: { name: 't', arguments: '{}', ...more },
  })
  const a = (...tool_calls: unknown[]) => ({ role: 'assistant', content: null, tool_calls })
  const res = (tool_call_id: string) => ({ role: 'tool', tool_call_id, content: '' })
  const hi = { role: 'user', content: 'hi' }

  test('accepts calls and their results in any order', async () => {
    const messages = [
      { role: 'system', content: 's' },
      hi,
      a(tool_call('1'), tool_call('2')),
      res('2'),
      res('1'),
      hi,
    ]
    expect(await statusOf('chat', { messages })).toEqual([200, ''])
  })

  test.each([
    ['a call without a result', [hi, a(tool_call('1')), hi], 'did not have response messages: 1'],
    ['a call at the end', [hi, a(tool_call('1'))], 'did not have response messages: 1'],
    [
      'a result too late',
      [hi, a(tool_call('1'), tool_call('2')), res('1'), hi, res('2')],
      'response messages: 2',
    ],
    ['a result without a call', [hi, res('1')], "role 'tool' must be a response"],
    ['a result twice', [hi, a(tool_call('1')), res('1'), res('1')], "role 'tool' must be a response"],
    ['an id of 41 characters', [hi, a(tool_call('x'.repeat(41))), res('x'.repeat(41))], 'maximum length 40'],
    ['arguments that are not an object', [hi, a(tool_call('1', { arguments: '[]' })), res('1')], 'arguments'],
    ['an empty list of calls', [hi, a(), hi], 'too short'],
    ['an answer without content', [hi, { role: 'assistant', content: null }, hi], 'got null'],
    ['an empty message', [{ role: 'user', content: '' }], 'empty'],
    ['an unknown role', [hi, { role: 'model', content: 'x' }], 'Invalid value'],
    ['a first message of the model', [{ role: 'assistant', content: 'x' }, hi], 'first message'],
    ['nothing', [], 'too short'],
  ])('rejects %s', async (_, messages, words) => {
    const [status, message] = await statusOf('chat', { messages })
    expect(message).toContain(words)
    expect(status).toBe(400)
  })
})

describe('responses', () => {
  const made = (call_id: string, more = {}) => ({
    type: 'function_call',
    call_id,
    name: 't',
    arguments: '{}',
    ...more,
  })
  const out = (call_id: string) => ({ type: 'function_call_output', call_id, output: '' })
  const hi = { role: 'user', content: 'hi' }

  test('accepts calls and their results', async () => {
    const input = [hi, { role: 'assistant', content: 'so' }, made('1'), made('2'), out('1'), out('2'), hi]
    expect(await statusOf('responses', { input })).toEqual([200, ''])
  })

  test.each([
    ['a call without an output', [hi, made('1'), hi], 'No tool output found for function call 1'],
    ['a call at the end', [hi, made('1')], 'No tool output found for function call 1'],
    ['an output without a call', [hi, out('1')], 'No tool call found'],
    ['an output before its call', [hi, out('1'), made('1')], 'No tool call found'],
    ['an output twice', [hi, made('1'), out('1'), out('1')], 'No tool call found'],
    ['an id used twice', [hi, made('1'), out('1'), made('1'), out('1')], 'Duplicate'],
    ['arguments that are not an object', [hi, made('1', { arguments: 'x' }), out('1')], 'arguments'],
    ['an empty message', [{ role: 'user', content: '' }], 'empty'],
    ['an unknown role', [hi, { role: 'tool', content: 'x' }], 'role'],
    ['an unknown item', [hi, { type: 'thought' }], 'type'],
    ['nothing', [], 'input'],
  ])('rejects %s', async (_, input, words) => {
    const [status, message] = await statusOf('responses', { input })
    expect(message).toContain(words)
    expect(status).toBe(400)
  })
})

test('a conversation above the maximum length is rejected, and a rule wins over the position', async () => {
  const limited = await startModelServer({
    responses: [{ text: 'first' }, { text: 'second' }],
    rules: [{ includes: 'Summarise', text: 'a summary' }],
    context_tokens_max: 200,
  })
  const ask = (content: string) => collect(openai, requestFor({ base_url: `${limited.url}/v1` }, content))
  await expect(ask('x'.repeat(1000))).rejects.toMatchObject({ failure: { type: 'overflow' } })
  expect(textOf(await ask('Summarise this'))).toBe('a summary')
  expect(textOf(await ask('hello'))).toBe('first')
  expect(limited.refusals()).toEqual([])
  await limited.close()
})

test('as a separate process it prints its URL, answers by its scenario, and lists its requests', async () => {
  const own = await startServerProcess({ responses: [{ tool_calls: [{ name: 'shell' }] }, { text: 'over' }] })
  const ask = (history: Parameters<typeof requestFor>[1]) =>
    collect(openai, requestFor({ base_url: `${own.url}/v1` }, history))
  const history = [user('go'), assistant('', call('c')), result('c', 'ok')]
  expect((await ask(history)).at(-1)).toEqual({ type: 'stop', reason: 'end' })
  expect((await ask('go')).at(-1)).toEqual({ type: 'stop', reason: 'tool_calls' })
  const asked = await own.requests()
  expect(asked.map(({ place, has_key }) => [place, has_key])).toEqual([
    [1, true],
    [0, true],
  ])
  expect(JSON.stringify(asked)).not.toContain('sk-test')
  expect(await own.stop()).toBe(0)
})
