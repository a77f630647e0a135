/** The ways in which an answer can fail, over a real socket, and the failures that the provider reports. */
import { createServer as createHttpServer } from 'node:http'
import { type AddressInfo, createServer, type Server } from 'node:net'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import type { ModelEvent } from '../../src/provider/contract.js'
import type { Fault } from '../support/model-server/scenario.js'
import { type ModelServer, startModelServer } from '../support/model-server/server.js'
import { holdTimers } from '../support/time.js'
import { waitFor } from '../support/wait.js'
import { collect, failureOf, KEY, requestFor, textOf, VARIANTS } from './support.js'

const HOUR_MS = 3_600_000

let server: ModelServer
beforeEach(async () => {
  server = await startModelServer()
})
afterEach(() => server.close())

describe.each(VARIANTS)('$api', ({ api, provider, options, keyVariable }) => {
  const failWith = (fault: Fault, more: Record<string, string> = {}) => {
    server.setScenario({
      responses: [{ text: 'a long answer that is never whole', event_characters: 4, fault }],
    })
    return failureOf(() => collect(provider, requestFor({ ...options(server.url), ...more })))
  }

  test.each([
    ['authentication', 'authentication'],
    ['permission', 'authentication'],
    ['quota', 'billing'],
    ['invalid', 'invalid'],
    ['not_found', 'misconfigured'],
    ['overflow', 'overflow'],
    ['too_large', 'overflow'],
    ['rate_limit', 'rate_limit'],
    ['server_error', 'server_error'],
    ['overloaded', 'overloaded'],
  ] as const)('an error of kind %s has type %s', async (error, type) => {
    const { failure, message } = await failWith({ error })
    expect(failure).toEqual({ type })
    expect(message).toMatch(/^127\.0\.0\.1:\d+ answered [45]\d\d: \S/)
  })

  // An `invalid` request can cost a conversation its beginning, so no other refusal may count as one.
  test.each<[number, string]>([
    [304, 'misconfigured'],
    [400, 'invalid'],
    [405, 'misconfigured'],
    [409, 'server_error'],
    [410, 'misconfigured'],
    [422, 'invalid'],
    [425, 'server_error'],
    [499, 'server_error'],
  ])('an answer with the status %i has type %s', async (status, type) => {
    await withHttp(status, 'text/plain', '', async (url) => {
      expect((await failureOf(() => collect(provider, requestFor(options(url))))).failure.type).toBe(type)
    })
  })

  test.each([
    ['rate_limit', 'rate_limit'],
    ['overloaded', 'overloaded'],
    ['server_error', 'server_error'],
    ['authentication', 'authentication'],
    ['overflow', 'overflow'],
  ] as const)('an error of kind %s within an answer has type %s', async (error, type) => {
    // Only its words tell an overflow of the Messages API; the Responses API has a code.
    const words =
      error === 'overflow'
        ? { message: 'prompt is too long: 9 tokens > 8 maximum' }
        : error === 'overloaded'
          ? { message: 'The server is overloaded.' }
          : {}
    const { failure, message } = await failWith({ error, after_events: 4, ...words })
    expect(failure).toEqual({ type, answer_began: true })
    expect(message).toContain('in the middle of its answer')
  })

  test.each<[Record<string, string>, number]>([
    [{ 'retry-after': '7' }, 7000],
    [{ 'retry-after-ms': '1234', 'retry-after': '7' }, 1234],
    [
      {
        'x-ratelimit-remaining-tokens': '0',
        'x-ratelimit-reset-tokens': '6m0s',
        'x-ratelimit-reset-requests': '1s',
      },
      360_000,
    ],
  ])('%j tells when to retry', async (headers, ms) => {
    const { failure } = await failWith({ error: 'rate_limit', headers })
    expect(failure).toEqual({ type: 'rate_limit', retry_after_ms: ms })
  })

  test.each<[string, (at: Date) => Record<string, string>]>([
    ['retry-after', (at) => ({ 'retry-after': at.toUTCString() })],
    [
      'anthropic-ratelimit-tokens-reset',
      (at) => ({
        'anthropic-ratelimit-tokens-remaining': '0',
        'anthropic-ratelimit-tokens-reset': at.toISOString(),
      }),
    ],
  ])('a date in %s tells when to retry', async (_, headersOf) => {
    const begun = Date.now()
    const { failure } = await failWith({ error: 'rate_limit', headers: headersOf(new Date(begun + 60_000)) })
    expect(failure.type).toBe('rate_limit')
    // One of the two has whole seconds, and time passes until the answer is read.
    expect(failure.retry_after_ms).toBeGreaterThanOrEqual(59_000 - (Date.now() - begun))
    expect(failure.retry_after_ms).toBeLessThanOrEqual(60_000)
  })

  test('an overload can tell when to retry, and an invalid request never does', async () => {
    const headers = { 'retry-after': '3' }
    expect((await failWith({ error: 'overloaded', headers })).failure.retry_after_ms).toBe(3000)
    expect((await failWith({ error: 'invalid', headers })).failure.retry_after_ms).toBeUndefined()
  })

  test('the message of the API is passed on in one line of at most 500 characters', async () => {
    const { message } = await failWith({ error: 'invalid', message: `first\nsecond ${'x'.repeat(2000)}` })
    expect(message).toContain('first second xxx')
    expect(message.length).toBeLessThan(550)
  })

  test('a passing fault is over at the next attempt', async () => {
    await failWith({ error: 'overloaded', attempts: 1 })
    expect(textOf(await collect(provider, requestFor(options(server.url))))).toBe(
      'a long answer that is never whole',
    )
  })

  test.each(['cut', 'end'] as const)('a stream with a %s in the middle is unreachable', async (stream) => {
    const { failure, message } = await failWith({ stream, after_events: 5 })
    expect(failure).toEqual({ type: 'unreachable' })
    expect(message).toMatch(
      /127\.0\.0\.1:\d+ (did not complete its answer \(ECONNRESET\)|ended its answer early)$/,
    )
  })

  test('a stream cut before its first event is unreachable', async () => {
    expect((await failWith({ stream: 'cut', after_events: 0 })).failure.type).toBe('unreachable')
  })

  test('a stall in the middle ends after stall_timeout, and closes the connection', async () => {
    const timers = holdTimers(HOUR_MS)
    const fault = { stream: 'stall', after_events: 5 } as const
    server.setScenario({ responses: [{ text: 'a long answer', event_characters: 4, fault }] })
    const events: ModelEvent[] = []
    const request = requestFor({ ...options(server.url), stall_timeout: '1h' })
    const failed = failureOf(() => collect(provider, request, undefined, events))
    await waitFor(() => events.length > 0 && timers.pending(HOUR_MS) > 0, 'the stall')
    timers.fire(HOUR_MS)
    const { failure, message } = await failed
    expect(failure).toEqual({ type: 'timeout' })
    expect(message).toContain('sent nothing for 3600 s')
    await hungUp()
  })

  test('a request without an answer ends after stall_timeout', async () => {
    server.setScenario({ responses: [{ text: 'late', delay_ms: 7_200_000 }] })
    const timers = holdTimers(HOUR_MS)
    const request = requestFor({ ...options(server.url), stall_timeout: '1h' })
    const failed = failureOf(() => collect(provider, request))
    await waitFor(() => server.requests.length > 0, 'the request')
    timers.fire(HOUR_MS)
    expect((await failed).failure.type).toBe('timeout')
    await hungUp()
  })

  test('a slow answer is not a stall while bytes arrive', async () => {
    server.setScenario({ responses: [{ text: 'abcdef', event_characters: 1, event_delay_ms: 5 }] })
    const request = requestFor({ ...options(server.url), stall_timeout: '1h' })
    expect(textOf(await collect(provider, request))).toBe('abcdef')
  })

  test('a slow reader is not a stall', async () => {
    server.setScenario({ responses: [{ text: 'abc', event_characters: 1 }] })
    const timers = holdTimers(HOUR_MS)
    const request = requestFor({ ...options(server.url), stall_timeout: '1h' })
    let text = ''
    for await (const event of provider.complete(request, { signal: new AbortController().signal })) {
      // No timer runs while the reader is busy, however long that takes.
      expect(timers.pending(HOUR_MS)).toBe(0)
      if (event.type === 'text') text += event.text
    }
    expect(text).toBe('abc')
  })

  test.each(['no json', '[]', '7'])('an event of %j is an invalid response', async (raw_event) => {
    expect((await failWith({ raw_event, after_events: 3 })).failure).toEqual({ type: 'invalid_response' })
  })

  test('an HTML page instead of a stream is an invalid response', async () => {
    await withHttp(200, 'text/html', '<h1>Log in</h1>', async (url) => {
      const { failure, message } = await failureOf(() => collect(provider, requestFor(options(url))))
      expect(failure.type).toBe('invalid_response')
      expect(message).toContain('text/html')
    })
  })

  test.each([
    [502, 'text/html', '<html><h1>Bad Gateway</h1></html>', 'server_error', 'Bad Gateway'],
    [
      400,
      'application/json',
      '{"object":"error","message":"This model\'s maximum context length is 4096 tokens","code":400}',
      'overflow',
      '4096',
    ],
    [
      400,
      'application/json',
      '{"error":{"code":400,"message":"the request exceeds the available context size","type":"exceed_context_size_error"}}',
      'overflow',
      'context size',
    ],
    [
      404,
      'application/json',
      '{"error":"model \\"x\\" not found, try pulling it first"}',
      'misconfigured',
      'try pulling it first; check the model (--model) and the address (--option base_url=…)',
    ],
    [404, 'text/plain', '404 page not found', 'misconfigured', 'page not found; check the model'],
    [
      400,
      'application/json',
      '{"error":{"code":400,"message":"m/x is not a valid model ID"}}',
      'misconfigured',
      'valid model ID; check the model',
    ],
    [400, 'application/json', '{"error":{"message":"x","code":"constructor"}}', 'invalid', 'x'],
    [400, 'application/json', '{"error":{"message":"Model Not Exist"}}', 'misconfigured', 'Not Exist'],
    [400, 'application/json', '{"error":{"message":"the model cannot read role x"}}', 'invalid', 'role x'],
    [404, 'application/json', '{"error":{"message":"Item with id \'rs_1\' not found."}}', 'invalid', 'rs_1'],
    [
      402,
      'application/json',
      '{"error":{"code":402,"message":"Insufficient credits"}}',
      'billing',
      'credits',
    ],
    [408, 'text/plain', 'Request timed out', 'timeout', 'timed out'],
    [
      429,
      'application/json',
      '{"error":{"code":"rate_limit_exceeded","message":"Request too large for gpt-x on tokens per min"}}',
      'overflow',
      'too large',
    ],
    [302, 'text/plain', 'elsewhere', 'misconfigured', '302'],
    [500, 'text/plain', '', 'server_error', '500'],
  ])(
    'a compatible server that answers %i with %s %s fails with type %s',
    async (status, kind, body, type, words) => {
      await withHttp(status, kind, body, async (url) => {
        const { failure, message } = await failureOf(() => collect(provider, requestFor(options(url))))
        expect(failure.type).toBe(type)
        expect(message).toContain(words)
      })
    },
  )

  test('a refused connection and an unknown host name are unreachable', async () => {
    const { port } = server
    await server.close()
    const refused = await failureOf(() => collect(provider, requestFor(options(`http://127.0.0.1:${port}`))))
    expect(refused.failure).toEqual({ type: 'unreachable' })
    expect(refused.message).toContain(`127.0.0.1:${port} cannot be reached (ECONNREFUSED)`)
    const local = await failureOf(() => collect(provider, requestFor(options(`http://localhost:${port}`))))
    expect(local.message).toContain('ECONNREFUSED')
    const unknown = await failureOf(() => collect(provider, requestFor(options('http://model.invalid'))))
    expect(unknown.failure).toEqual({ type: 'unreachable' })
  })

  test('a connection reset before any answer is unreachable', async () => {
    const resetting = createServer((socket) => socket.on('data', () => socket.resetAndDestroy()))
    const url = await listen(resetting)
    expect((await failureOf(() => collect(provider, requestFor(options(url))))).failure.type).toBe(
      'unreachable',
    )
    resetting.close()
  })

  test.each([
    ['before the first byte', { delay_ms: 3_600_000 }],
    ['in the middle of a stall', { fault: { stream: 'stall' as const, after_events: 5 } }],
  ])('an abort %s closes the connection and throws its reason', async (_, answer) => {
    server.setScenario({ responses: [{ text: 'some text that goes on', event_characters: 2, ...answer }] })
    const controller = new AbortController()
    const asked = collect(provider, requestFor(options(server.url)), controller.signal)
    asked.catch(() => {})
    await waitFor(() => server.requests.length === 1, 'the request')
    const reason = new Error('cancelled')
    controller.abort(reason)
    await expect(asked).rejects.toBe(reason)
    await hungUp()
  })

  test('an abort while the reader is busy stops the stream', async () => {
    server.setScenario({ responses: [{ text: 'x'.repeat(400), event_characters: 2, event_delay_ms: 5 }] })
    const controller = new AbortController()
    const reading = async (): Promise<void> => {
      for await (const event of provider.complete(requestFor(options(server.url)), controller)) {
        if (event.type === 'text') controller.abort()
      }
    }
    await expect(reading()).rejects.toMatchObject({ name: 'AbortError' })
    await hungUp()
  })

  test('an aborted request is not sent', async () => {
    await expect(collect(provider, requestFor(options(server.url)), AbortSignal.abort())).rejects.toThrow()
    expect(server.requests).toEqual([])
  })

  test('no message has the key, however the API repeats it', async () => {
    const forms = [
      KEY,
      encodeURIComponent(KEY),
      `Bearer ${KEY}`,
      'sk-test-********************cdef',
      `${KEY}${KEY}`,
    ]
    const messages: string[] = []
    for (const form of forms) {
      for (const fault of [
        { error: 'authentication' },
        { error: 'server_error', after_events: 3 },
      ] as const) {
        messages.push((await failWith({ ...fault, message: `The key ${form} is not known.` })).message)
      }
    }
    server.setScenario({ responses: [], key: 'another' })
    const refused = await failureOf(() => collect(provider, requestFor(options(server.url))))
    expect(refused.failure.type).toBe('authentication')
    messages.push(refused.message, String(refused.stack), JSON.stringify(refused))
    for (const message of messages) {
      expect(message).not.toContain('0123456789abcdef')
      expect(message).not.toContain('cdef is')
    }
    expect(messages[0]).toContain('The key [secret] is not known.')
    expect(server.requests.at(-1)?.headers[api === 'messages' ? 'x-api-key' : 'authorization']).toContain(KEY)
  })

  test('a key of any form is removed, also in its JSON or URL encoding', async () => {
    const odd = 'k%"y\\+/=0'
    process.env[keyVariable] = odd
    try {
      const { message } = await failWith({
        error: 'invalid',
        message: `${odd} ${encodeURIComponent(odd)} ${JSON.stringify(odd)}`,
      })
      expect(message).toContain('[secret] [secret] "[secret]"')
    } finally {
      process.env[keyVariable] = KEY
    }
  })
})

async function withHttp(
  status: number,
  kind: string,
  body: string,
  act: (url: string) => Promise<void>,
): Promise<void> {
  const http = createHttpServer((_, response) =>
    response.writeHead(status, { 'content-type': kind }).end(body),
  )
  const url = await listen(http)
  try {
    await act(url)
  } finally {
    http.closeAllConnections()
    http.close()
  }
}

async function listen(listener: Server): Promise<string> {
  await new Promise<void>((resolve) => listener.listen(0, '127.0.0.1', resolve))
  return `http://127.0.0.1:${(listener.address() as AddressInfo).port}`
}

/** The client closed the connection before the end of the answer. */
function hungUp(): Promise<void> {
  return waitFor(() => server.requests[0]?.hungUpAt !== undefined, 'the client to hang up')
}
