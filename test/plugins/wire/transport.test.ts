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
])('the body %j says when to retry', async (body, ms) => {
  const url = await serve((_, response) => response.writeHead(429).end(JSON.stringify(body)))
  expect((await failureOf(() => askAt(url))).failure).toEqual({ type: 'rate_limit', retry_after_ms: ms })
})

test('a page instead of an answer is named with its words', async () => {
  const { failure } = await readChunks('chat', [
    '<html><head><style>x</style></head>',
    'Please log in</html>',
  ])
  expect(failure?.type).toBe('invalid_response')
})
