/** Compression, redirects, dead proxies and keep-alives, on loopback. */
import { createServer, type RequestListener } from 'node:http'
import type { AddressInfo } from 'node:net'
import { brotliCompressSync, deflateRawSync, deflateSync, gzipSync } from 'node:zlib'
import { describe, expect, onTestFinished, test } from 'vitest'
import { collect, failureOf, openai, requestFor, textOf } from '../support.js'
import { readChunks, sse } from './read.js'

const ANSWER = [{ choices: [{ delta: { content: 'all' }, finish_reason: 'stop' }] }, '[DONE]']
  .map(sse)
  .join('')

async function serve(listener: RequestListener): Promise<string> {
  const server = createServer(listener)
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  onTestFinished(() => {
    server.closeAllConnections()
    server.close()
  })
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}/v1`
}

const askAt = (base_url: string, more: Record<string, string> = {}): Promise<string> =>
  collect(openai, requestFor({ base_url, ...more })).then(textOf)

test.each([
  ['gzip', gzipSync(ANSWER)],
  ['deflate', deflateSync(ANSWER)],
  ['deflate', deflateRawSync(ANSWER)],
  ['br', brotliCompressSync(ANSWER)],
])('an answer in %s is decoded, although the request asks for none', async (encoding, body) => {
  let accepted: unknown
  const url = await serve((request, response) => {
    accepted = request.headers['accept-encoding']
    response.writeHead(200, { 'content-type': 'text/event-stream', 'content-encoding': encoding }).end(body)
  })
  expect(await askAt(url)).toBe('all')
  expect(accepted).toBe('identity')
})

test.each([
  ['gzip, gzip', gzipSync(gzipSync(ANSWER))],
  ['identity, gzip', gzipSync(ANSWER)],
  ['br, deflate', deflateSync(brotliCompressSync(ANSWER))],
  ['gzip', Buffer.from(ANSWER)],
  ['utf-8', Buffer.from(`\ufeff${ANSWER}`)],
  ['none', Buffer.from(ANSWER)],
  ['aws-chunked', gzipSync(ANSWER)],
])('an answer whose encoding is said to be %s is read by its first bytes', async (encoding, body) => {
  for (const parts of [[body], [...body].map((byte) => Buffer.from([byte]))]) {
    const url = await serve((_, response) => {
      response.writeHead(200, { 'content-encoding': encoding })
      for (const part of parts) response.write(part)
      response.end()
    })
    expect(await askAt(url)).toBe('all')
  }
})

test('a compression that is not known is named', async () => {
  const url = await serve((_, response) =>
    response.writeHead(200, { 'content-encoding': 'lzma' }).end(Buffer.from([0x00, 0x5d, 1, 2, 3])),
  )
  const { failure, message } = await failureOf(() => askAt(url))
  expect(failure.type).toBe('invalid_response')
  expect(message).toContain('compressed its answer with lzma, which is not supported')
})

test.each([
  ['gzip', gzipSync(ANSWER)],
  ['deflate', deflateSync(ANSWER)],
  ['deflate', deflateRawSync(ANSWER)],
])('an answer in %s that breaks off, or is none, fails in words', async (encoding, body) => {
  for (const sent of [body.subarray(0, 20), Buffer.from('\u0008 no such encoding')]) {
    const url = await serve((_, response) =>
      response.writeHead(200, { 'content-encoding': encoding }).end(sent),
    )
    expect((await failureOf(() => askAt(url))).failure.type).toBe('unreachable')
  }
})

describe('a redirect', () => {
  test('to the same host is followed if the method stays the same', async () => {
    const url = await serve((request, response) => {
      if (request.url?.startsWith('/v1') === true)
        response.writeHead(308, { location: '/moved/chat/completions' }).end()
      else response.writeHead(200, { 'content-type': 'text/event-stream' }).end(ANSWER)
    })
    expect(await askAt(url)).toBe('all')
  })

  test('to another host is named, and the key never goes there', async () => {
    let asked = 0
    const other = await serve((_, response) => {
      asked += 1
      response.end(ANSWER)
    })
    const url = await serve((_, response) =>
      response.writeHead(307, { location: `${other}/x?secret=1` }).end(),
    )
    const { failure, message } = await failureOf(() => askAt(url))
    expect(failure.type).toBe('misconfigured')
    expect(message).toContain(`redirects to ${other}/x;`)
    expect(asked).toBe(0)
  })

  test.each([301, 302, 303])('with status %i, which changes the method, is named', async (status) => {
    const url = await serve((_, response) => response.writeHead(status, { location: '/v2' }).end())
    expect((await failureOf(() => askAt(url))).message).toContain('/v2')
  })

  test('in a circle ends', async () => {
    const url = await serve((request, response) =>
      response.writeHead(307, { location: request.url ?? '' }).end(),
    )
    expect((await failureOf(() => askAt(url))).message).toContain('more than 5 times')
  })
})

test('a dead proxy is named as such', async () => {
  process.env.http_proxy = 'http://127.0.0.1:1'
  onTestFinished(() => {
    delete process.env.http_proxy
  })
  const { failure, message } = await failureOf(() => askAt('http://model.test/v1'))
  expect(failure.type).toBe('unreachable')
  expect(message).toBe('the proxy 127.0.0.1:1, on the way to model.test, cannot be reached (ECONNREFUSED)')
})

test('comments without an event end a request', async () => {
  const url = await serve((_, response) => {
    response.writeHead(200, { 'content-type': 'text/event-stream' })
    const timer = setInterval(() => response.write(': keepalive\n\n'), 5)
    response.on('close', () => clearInterval(timer))
  })
  const { failure, message } = await failureOf(() => askAt(url, { event_timeout: '50ms' }))
  expect(failure.type).toBe('timeout')
  expect(message).toContain('sent no event for 0.05 s')
})

test.each([
  [{ error: { type: 'usage_limit_reached', message: 'limit', resets_in_seconds: 7200 } }, 7_200_000],
  [{ error: { message: 'limit', details: [{ retryDelay: '34s' }] } }, 34_000],
  [{ error: { message: 'Rate limit reached. Please try again in 7m12s.' } }, 432_000],
  [{ error: { message: 'You exceeded your current quota. Please retry in 32.5 seconds.' } }, 32_500],
  [{ error: { message: 'Too many requests. Please wait 600 seconds before trying again.' } }, 600_000],
  [{ error: { message: 'The limit resets in 2 hours.' } }, 7_200_000],
  [{ error: { details: [{ metadata: { quotaResetDelay: '1h0m0s' } }], message: 'limit' } }, 3_600_000],
])('the body %j says when to retry', async (body, ms) => {
  const url = await serve((_, response) => response.writeHead(429).end(JSON.stringify(body)))
  expect((await failureOf(() => askAt(url))).failure).toEqual({ type: 'rate_limit', retry_after_ms: ms })
})

test.each([
  [{ 'retry-after-ms': '1500' }, 1500],
  [{ 'x-ms-retry-after-ms': '1500' }, 1500],
  [{ 'ratelimit-reset': '300' }, 300_000],
  [{ ratelimit: 'limit=10, remaining=0, reset=300' }, 300_000],
  [{ ratelimit: '"hourly";r=0;t=300' }, 300_000],
  [{ 'retry-after': '20', 'ratelimit-reset': '300' }, 20_000],
] as const)('the headers %j say when to retry', async (headers, ms) => {
  const url = await serve((_, response) => response.writeHead(429, headers).end('{}'))
  expect((await failureOf(() => askAt(url))).failure).toEqual({ type: 'rate_limit', retry_after_ms: ms })
})

test.each([
  [429, 'Your team has either used all available credits or reached its monthly spending limit.'],
  [403, 'Your team has either used all available credits or reached its monthly spending limit.'],
  [400, 'You have reached your specified API usage limits. You will regain access on 2026-12-01.'],
  [403, 'Key limit exceeded (total limit). Manage it using https://openrouter.ai/settings/keys'],
  [400, 'Access denied, please make sure your account is in good standing.'],
  [403, 'Access denied due to overdue account'],
])('status %i with %j is a matter of billing', async (status, words) => {
  const url = await serve((_, response) =>
    response.writeHead(status).end(JSON.stringify({ error: { message: words } })),
  )
  expect((await failureOf(() => askAt(url))).failure.type).toBe('billing')
})

test.each([
  [{ success: false, code: 1234, msg: 'the words of the server' }, 'server_error'],
  [
    { base_resp: { status_code: 1008, status_msg: 'the words: insufficient balance' }, choices: null },
    'billing',
  ],
  [{ status: 'error', reason: 'the words of the server' }, 'server_error'],
] as const)('the error %j in an answer without an error status keeps its words', async (body, type) => {
  for (const dialect of ['chat', 'responses', 'messages'] as const)
    for (const sent of [JSON.stringify(body), `data: ${JSON.stringify(body)}\n\n`]) {
      const { failure } = await readChunks(dialect, [sent])
      expect(failure).toMatchObject({ type, message: expect.stringContaining('the words') })
    }
})

test('a page instead of an answer is named with its words', async () => {
  const { failure } = await readChunks('chat', [
    '<html><head><style>x</style></head>',
    'Please log in</html>',
  ])
  expect(failure?.type).toBe('invalid_response')
})
