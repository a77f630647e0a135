/** Answers of a model over a real socket: text, tool calls, usage, and the reason of the end. */
import { createServer, request as httpRequest } from 'node:http'
import type { AddressInfo, Socket } from 'node:net'
import { setImmediate } from 'node:timers/promises'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import type { ModelEvent } from '../../src/provider/contract.js'
import { type ModelServer, startModelServer } from '../support/model-server/server.js'
import { waitFor } from '../support/wait.js'
import {
  assistant,
  call,
  callsOf,
  collect,
  failureOf,
  requestFor,
  result,
  textOf,
  user,
  VARIANTS,
} from './support.js'

let server: ModelServer
beforeEach(async () => {
  server = await startModelServer()
})
afterEach(() => server.close())

describe.each(VARIANTS)('$api', ({ api, provider, options }) => {
  const ask = (...args: Parameters<typeof requestFor> extends [unknown, ...infer Rest] ? Rest : never) =>
    collect(provider, requestFor(options(server.url), ...args))

  test('text arrives completely, in order, and in the pieces in which it was sent', async () => {
    const text = 'Grüße, 世界 🌍: everything that was said, also \u2028 and "quotes"\n'
    server.setScenario({ responses: [{ text, event_characters: 3 }] })
    const events = await ask()
    expect(textOf(events)).toBe(text)
    expect(events.filter(({ type }) => type === 'text').length).toBeGreaterThan(10)
    expect(events.at(-1)).toEqual({ type: 'stop', reason: 'end' })
  })

  test('text arrives before the model has finished', async () => {
    const stalls = { stream: 'stall' as const, after_events: 5 }
    server.setScenario({ responses: [{ text: 'a'.repeat(40), event_characters: 10, fault: stalls }] })
    let text = ''
    for await (const event of provider.complete(requestFor(options(server.url)), { signal: never() })) {
      if (event.type === 'text') text += event.text
      // The rest of the answer never arrives.
      if (text !== '') break
    }
    expect(text).toMatch(/^a+$/)
  })

  test('parallel calls are assembled from their pieces, in order', async () => {
    const inputs = [
      { command: 'ls -la "ä"' },
      {},
      { command: 'x'.repeat(100), deep: { list: [1, null, true] } },
    ]
    server.setScenario({
      responses: [
        {
          text: 'let me look',
          tool_calls: inputs.map((input) => ({ name: 'shell', input })),
          event_characters: 5,
        },
      ],
    })
    const events = await ask()
    expect(callsOf(events).map(({ name, input }) => ({ name, input }))).toEqual(
      inputs.map((input) => ({ name: 'shell', input })),
    )
    expect(new Set(callsOf(events).map(({ call_id }) => call_id)).size).toBe(3)
    expect(textOf(events)).toBe('let me look')
    expect(events.at(-1)).toEqual({ type: 'stop', reason: 'tool_calls' })
  })

  test('a call with an empty input has no parameters', async () => {
    server.setScenario({ responses: [{ tool_calls: [{ name: 'list', raw_input: '' }] }] })
    expect(callsOf(await ask()).map(({ input }) => input)).toEqual([{}])
  })

  test.each(['{"command": ', '[1]', '"ls"', '7', 'ls -la'])(
    'an input of %s comes with its error, for the model to read',
    async (raw_input) => {
      server.setScenario({ responses: [{ tool_calls: [{ name: 'shell', raw_input }] }] })
      const [call] = callsOf(await ask())
      expect(call).toMatchObject({ name: 'shell', input: {}, arguments_error: { text: raw_input } })
      expect(call?.arguments_error?.message).toMatch(/^they are (not )?valid JSON/)
    },
  )

  test.each([
    ['null', {}],
    [' ', {}],
    ['""', {}],
    ['"{\\"command\\":\\"ls\\"}"', { command: 'ls' }],
    ['{"command":"ls"}\n', { command: 'ls' }],
  ])('an input of %j is read as what it means', async (raw_input, input) => {
    server.setScenario({ responses: [{ tool_calls: [{ name: 'shell', raw_input }] }] })
    expect(callsOf(await ask())).toEqual([{ call_id: expect.any(String), name: 'shell', input }])
  })

  test('usage includes tokens read from a cache, and names the part and the model', async () => {
    const usage = { input_tokens: 100, cached_tokens: 23, output_tokens: 7 }
    server.setScenario({ responses: [{ text: 'hi', usage }] })
    const [event, ...others] = (await ask()).filter(({ type }) => type === 'usage')
    expect(others).toEqual([])
    expect(event).toMatchObject({
      usage: { input_tokens: 123, output_tokens: 7, cache_read_tokens: 23 },
      model: expect.stringMatching(/./),
    })
  })

  test('a stream that fails reports what the service had counted', async () => {
    const usage = { input_tokens: 100, cached_tokens: 23, output_tokens: 7 }
    server.setScenario({
      responses: [{ text: 'a'.repeat(40), usage, fault: { stream: 'cut', after_events: 4 } }],
    })
    const events: ModelEvent[] = []
    await failureOf(() => collect(provider, requestFor(options(server.url)), undefined, events))
    const counted = events.filter(({ type }) => type === 'usage')
    // Only the Messages API counts the input at the beginning of its stream.
    expect(counted).toHaveLength(api === 'messages' ? 1 : 0)
  })

  const testOfOpenai = api === 'messages' ? undefined : test
  testOfOpenai?.('usage that comes with an error is reported before the failure', async () => {
    const error = { code: 'server_error', message: 'broken' }
    const raw =
      api === 'chat'
        ? { error, usage: { prompt_tokens: 9, completion_tokens: 4 } }
        : { type: 'response.failed', response: { error, usage: { input_tokens: 9, output_tokens: 4 } } }
    const fault = { raw_event: JSON.stringify(raw), after_events: 2 }
    server.setScenario({ responses: [{ text: 'a'.repeat(40), fault }] })
    const events: ModelEvent[] = []
    const { message } = await failureOf(() =>
      collect(provider, requestFor(options(server.url)), undefined, events),
    )
    expect(message).toContain('broken')
    expect(events.filter(({ type }) => type === 'usage')).toMatchObject([
      { usage: { input_tokens: 9, output_tokens: 4 } },
    ])
  })

  testOfOpenai?.(
    'usage of an answer whose calls contradict each other is reported before the failure',
    async () => {
      const [usage, name] = [{ prompt_tokens: 9, completion_tokens: 4 }, 'other']
      const output = [{ type: 'function_call', id: 'fc_x', call_id: 'x', name, arguments: '{}' }]
      const tool_calls = [{ id: 'x', function: { name, arguments: '{}' } }]
      const counts = { input_tokens: 9, output_tokens: 4 }
      const raw =
        api === 'chat'
          ? { choices: [{ index: 0, message: { tool_calls }, finish_reason: 'tool_calls' }], usage }
          : { type: 'response.completed', response: { status: 'completed', output, usage: counts } }
      const fault = { raw_event: JSON.stringify(raw), after_events: 4 }
      server.setScenario({
        responses: [{ tool_calls: [{ name: 'shell', input: { command: 'ls' } }], fault }],
      })
      const events: ModelEvent[] = []
      const { message } = await failureOf(() =>
        collect(provider, requestFor(options(server.url)), undefined, events),
      )
      expect(message).toContain('the end of the response has other calls than its stream')
      expect(events.filter(({ type }) => type === 'usage')).toMatchObject([{ usage: counts }])
    },
  )

  test('an answer that reached the token limit ends with reason length', async () => {
    server.setScenario({ responses: [{ text: 'and then', stop: 'length' }] })
    const events = await ask()
    expect(textOf(events)).toBe('and then')
    expect(events.at(-1)).toEqual({ type: 'stop', reason: 'length' })
  })

  test.each(['', '{"command":"rm -r'])(
    'a call truncated at %j by the token limit is not made',
    async (raw_input) => {
      server.setScenario({ responses: [{ tool_calls: [{ name: 'shell', raw_input }], stop: 'length' }] })
      const [call] = callsOf(await ask())
      expect(call).toMatchObject({
        input: {},
        arguments_error: { message: expect.stringContaining('max_tokens') },
      })
    },
  )

  test('a refusal fails as refused, after its text', async () => {
    server.setScenario({ responses: [{ text: 'I cannot do that.', stop: 'refusal' }] })
    const events: ModelEvent[] = []
    const { failure, message } = await failureOf(() =>
      collect(provider, requestFor(options(server.url)), undefined, events),
    )
    expect(textOf(events)).toBe('I cannot do that.')
    // A refusal costs tokens too.
    expect(events.filter(({ type }) => type === 'usage')).toHaveLength(1)
    expect(failure).toEqual({ type: 'refused' })
    expect(message).toMatch(/^127\.0\.0\.1:\d+ refused to answer \(refusal\)$/)
  })

  test('a conversation continues on one connection, where its history ends', async () => {
    server.setScenario({
      responses: [
        { tool_calls: [{ name: 'shell', input: { command: 'ls' } }], end_delay_ms: 10 },
        { text: 'two files' },
      ],
    })
    const [first] = callsOf(await ask('look'))
    if (first === undefined) throw new Error('no call')
    const history = [user('look'), assistant('', first), result(first.call_id, 'a b')]
    await isRead()
    expect(textOf(await ask(history))).toBe('two files')
    await isRead()
    expect(textOf(await ask([...history, assistant('two files'), user('thanks')]))).toBe('echo: thanks')
    expect(server.refusals()).toEqual([])
    expect(server.requests.map(({ place }) => place)).toEqual([0, 1, 2])
    expect(server.connections).toBe(1)
  })

  test('a kept connection that the server closes on the next request causes no failure', async () => {
    const closing = await startClosingProxy(server.port)
    const request = requestFor(options(`http://127.0.0.1:${closing.port}`))
    await collect(provider, request)
    await isRead()
    expect(textOf(await collect(provider, request))).toBe('echo: hello')
    expect(closing.closed()).toBe(1)
    await closing.close()
  })

  test('a stream that the server does not end is abandoned after the last event', async () => {
    server.setScenario({ responses: [{ text: 'all', fault: { stream: 'stall', after_events: 999 } }] })
    expect((await ask()).at(-1)?.type).toBe('stop')
    await hungUp()
  })

  test('a reader that stops early closes the connection', async () => {
    server.setScenario({ responses: [{ text: 'x'.repeat(1000), event_characters: 10, event_delay_ms: 20 }] })
    for await (const event of provider.complete(requestFor(options(server.url)), { signal: never() })) {
      if (event.type === 'text') break
    }
    await hungUp()
  })

  test('key, model, instructions and options are sent', async () => {
    const more = { instructions: 'Be brief.', model: 'model-7' }
    const limits = { max_tokens: '77', temperature: '0.5' }
    await collect(provider, requestFor({ ...options(server.url), ...limits }, 'hello', more))
    const [recorded] = server.requests
    if (recorded === undefined) throw new Error('nothing was asked')
    const { body, headers } = recorded
    expect(JSON.stringify(body)).toContain('"Be brief."')
    expect(body).toMatchObject({ model: 'model-7', temperature: 0.5, stream: true })
    expect(Object.entries(body).find(([name]) => /^max_(output_)?tokens$/.test(name))?.[1]).toBe(77)
    expect(headers['x-api-key'] ?? headers.authorization).toContain('sk-test-')
    expect(headers['user-agent']).toMatch(/^substrat-provider-(openai|anthropic)\/\d/)
  })
})

test('reasoning_effort is sent in the form of each of the two APIs', async () => {
  for (const { provider, options } of VARIANTS.slice(1)) {
    await collect(provider, requestFor({ ...options(server.url), reasoning_effort: 'low' }))
  }
  expect(server.requests[0]?.body).toMatchObject({ reasoning: { effort: 'low' } })
  expect(server.requests[1]?.body).toMatchObject({ reasoning_effort: 'low' })
  expect(server.refusals()).toEqual([])
})

test('the conversation is marked for the cache of the Messages API unless prompt_cache is off', async () => {
  const [variant] = VARIANTS
  if (variant === undefined) throw new Error('no variant')
  const { provider, options } = variant
  await collect(provider, requestFor(options(server.url)))
  await collect(provider, requestFor({ ...options(server.url), prompt_cache: 'off' }))
  const [marked, plain] = server.requests.map(({ body }) => JSON.stringify(body).includes('cache_control'))
  expect([marked, plain]).toEqual([true, false])
})

test('calls that reuse the id call_0 stay distinct', async () => {
  const [first, second] = [call('call_0', { command: 'a' }), call('call_0', { command: 'b' })]
  for (const { provider, options } of VARIANTS) {
    const history = [
      user('go'),
      assistant('', first),
      result('call_0', '1'),
      assistant('', second),
      result('call_0', '2'),
    ]
    await collect(provider, requestFor(options(server.url), history))
  }
  expect(server.refusals()).toEqual([])
})

/** Answers the first request of each connection, and closes the connection on the second. */
async function startClosingProxy(
  target: number,
): Promise<{ port: number; closed(): number; close(): Promise<void> }> {
  const served = new WeakSet<Socket>()
  let closed = 0
  const proxy = createServer((request, response) => {
    if (served.has(request.socket)) {
      closed += 1
      request.socket.destroy()
      return
    }
    served.add(request.socket)
    const { method, headers, url } = request
    const forwarded = httpRequest(
      { port: target, host: '127.0.0.1', path: url, method, headers },
      (answer) => {
        response.writeHead(answer.statusCode ?? 0, { 'content-type': answer.headers['content-type'] })
        answer.pipe(response)
      },
    )
    request.pipe(forwarded)
  })
  await new Promise<void>((resolve) => proxy.listen(0, '127.0.0.1', resolve))
  return {
    port: (proxy.address() as AddressInfo).port,
    closed: () => closed,
    close: () => new Promise((resolve) => void proxy.close(() => resolve()).closeAllConnections()),
  }
}

function never(): AbortSignal {
  return new AbortController().signal
}

/** The client closed the connection before the end of the answer. */
function hungUp(): Promise<void> {
  return waitFor(() => server.requests[0]?.hungUpAt !== undefined, 'the client to hang up')
}

/** The client reads the end of an answer after it has yielded the last event. The server is in this process too. */
async function isRead(): Promise<void> {
  await waitFor(() => server.requests.every(({ isOver }) => isOver === true), 'the answer to be sent')
  for (let turn = 0; turn < 20; turn++) await setImmediate()
}

test.each([
  ['response.completed', 'in_progress', 'end'],
  ['response.completed', 'queued', 'end'],
  ['response.done', 'in_progress', 'end'],
  ['response.incomplete', 'completed', 'length'],
  ['response.completed', 'incomplete', 'length'],
])('an answer that ends with %s ends so, although its status is %s', async (type, status, reason) => {
  const { provider, options } = VARIANTS.find(({ api }) => api === 'responses') as (typeof VARIANTS)[number]
  const incomplete_details = reason === 'length' ? { reason: 'max_output_tokens' } : null
  const raw_event = JSON.stringify({ type, response: { status, incomplete_details } })
  server.setScenario({ responses: [{ text: 'done', fault: { raw_event, after_events: 6 } }] })
  const events = await collect(provider, requestFor(options(server.url)))
  expect(textOf(events)).toBe('done')
  expect(events.at(-1)).toMatchObject({ type: 'stop', reason })
})
