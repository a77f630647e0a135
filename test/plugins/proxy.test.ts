/** Which requests go through a proxy, and that they arrive, with real proxies on the loopback. */
import { createServer, request as httpRequest, type IncomingMessage } from 'node:http'
import { type AddressInfo, connect } from 'node:net'
import type { Duplex } from 'node:stream'
import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest'
import { proxyFor } from '../../plugins/shared/src/model/proxy.js'
import { certificate } from '../support/model-server/certificate.js'
import { type ModelServer, startModelServer } from '../support/model-server/server.js'
import { waitFor } from '../support/wait.js'
import { collect, failureOf, requestFor, textOf, VARIANTS } from './support.js'

afterEach(() => vi.unstubAllEnvs())

test.each([
  ['https://api.example.com', { HTTPS_PROXY: 'http://p:1' }, 'http://p:1/'],
  ['https://api.example.com', { https_proxy: 'http://low:1', HTTPS_PROXY: 'http://high:1' }, 'http://low:1/'],
  ['https://api.example.com', { HTTP_PROXY: 'http://p:1' }, undefined],
  ['http://api.example.com', { HTTP_PROXY: 'http://p:1' }, 'http://p:1/'],
  ['http://api.example.com', { HTTPS_PROXY: 'http://p:1' }, undefined],
  ['https://api.example.com', { ALL_PROXY: 'p:3128' }, 'http://p:3128/'],
  ['http://api.example.com', { ALL_PROXY: 'http://a:1', http_proxy: 'https://b:1' }, 'https://b:1/'],
  ['https://api.example.com', { HTTPS_PROXY: '' }, undefined],
  ['http://localhost:11434', { HTTP_PROXY: 'http://p:1' }, undefined],
  ['http://127.0.0.9', { ALL_PROXY: 'http://p:1' }, undefined],
  ['http://[::1]:8080', { ALL_PROXY: 'http://p:1' }, undefined],
])('%s with %j goes through %s', (url, environment, proxy) => {
  expect(proxyFor(new URL(url), environment)?.href).toBe(proxy)
})

test.each([
  ['example.com', 'https://api.example.com', true],
  ['.example.com', 'https://api.example.com', true],
  ['*.example.com', 'https://api.example.com', true],
  ['.example.com', 'https://example.com', true],
  ['ample.com', 'https://example.com', false],
  ['api.example.com', 'https://example.com', false],
  ['EXAMPLE.com', 'https://api.Example.COM', true],
  ['a.test, example.com', 'https://example.com', true],
  ['a.test b.test', 'https://b.test', true],
  ['*', 'https://anything.test', true],
  ['example.com:443', 'https://example.com', true],
  ['example.com:8443', 'https://example.com', false],
  ['10.0.0.0/8', 'http://10.1.2.3', true],
  ['10.0.0.0/8', 'http://11.1.2.3', false],
  ['10.0.0.0/99', 'http://10.1.2.3', false],
  ['10.1.2.3', 'http://10.1.2.3', true],
  ['fd00::/8', 'http://[fd00::1]', true],
  ['', 'https://example.com', false],
])('with NO_PROXY=%s, direct access to %s is %s', (NO_PROXY, url, isDirect) => {
  expect(proxyFor(new URL(url), { NO_PROXY, ALL_PROXY: 'http://p:1' }) === undefined).toBe(isDirect)
})

test.each(['socks5://p:1080', 'http://'])('a proxy %s is an error, and is not ignored', (ALL_PROXY) => {
  expect(() => proxyFor(new URL('https://example.com'), { ALL_PROXY })).toThrow('ALL_PROXY')
})

describe.each(VARIANTS)('$api', ({ provider, options }) => {
  let server: ModelServer
  let proxy: Proxy
  beforeEach(async () => {
    server = await startModelServer()
    proxy = await startProxy(() => server.port, 'someone:se%40cret')
  })
  afterEach(async () => {
    await proxy.close()
    await server.close()
  })
  // Only the proxy can reach this host.
  const away = 'http://model.invalid:8000'

  test('http goes through the proxy in absolute form, with its credentials', async () => {
    vi.stubEnv('HTTP_PROXY', proxy.url('someone:se%40cret'))
    expect(textOf(await collect(provider, requestFor(options(away))))).toBe('echo: hello')
    expect(proxy.seen).toEqual([expect.stringMatching(/^POST http:\/\/model\.invalid:8000\/v1\//)])
    expect(server.requests[0]?.headers['proxy-authorization']).toBeUndefined()
  })

  test('a proxy that requires credentials is named without the ones it received', async () => {
    vi.stubEnv('HTTP_PROXY', proxy.url('someone:wrong-word'))
    const { failure, message } = await failureOf(() => collect(provider, requestFor(options(away))))
    expect(failure.type).toBe('misconfigured')
    expect(message).toContain('proxy 127.0.0.1:')
    expect(message).not.toContain('wrong-word')
  })

  test('an API error that repeats the credentials of the proxy does not show them', async () => {
    vi.stubEnv('HTTP_PROXY', proxy.url('someone:se%40cret'))
    server.setScenario({ responses: [{ fault: { error: 'invalid', message: 'got se@cret and se%40cret' } }] })
    expect((await failureOf(() => collect(provider, requestFor(options(away))))).message).toContain(
      'got [secret] and [secret]',
    )
  })

  test('a missing proxy is unreachable', async () => {
    vi.stubEnv('HTTP_PROXY', 'http://127.0.0.1:1')
    const { failure } = await failureOf(() => collect(provider, requestFor(options(away))))
    expect(failure).toEqual({ type: 'unreachable' })
  })

  test('a proxy of another kind is rejected by check', async () => {
    vi.stubEnv('ALL_PROXY', 'socks5://u:hidden-word@127.0.0.1:1')
    const { failure, message } = await failureOf(() => provider.check?.(requestFor(options(away))))
    expect(failure.type).toBe('misconfigured')
    expect(message).not.toContain('hidden-word')
  })

  test('an abort while the proxy opens a tunnel closes the connection', async () => {
    let hungUp = false
    let isAsked = false
    const silent = createServer().on('connect', (_, socket) => {
      isAsked = true
      socket.resume().on('end', () => {
        hungUp = true
      })
    })
    await new Promise<void>((resolve) => silent.listen(0, '127.0.0.1', resolve))
    vi.stubEnv('HTTPS_PROXY', `http://127.0.0.1:${(silent.address() as AddressInfo).port}`)
    const controller = new AbortController()
    const asked = collect(provider, requestFor(options('https://model.invalid')), controller.signal)
    await waitFor(() => isAsked, 'the tunnel to be asked for')
    controller.abort(new Error('cancelled'))
    await expect(asked).rejects.toThrow('cancelled')
    await waitFor(() => hungUp, 'the proxy to be left')
    silent.close()
  })

  test('a tunnel that the proxy refuses is unreachable', async () => {
    vi.stubEnv('HTTPS_PROXY', proxy.url('someone:se%40cret'))
    proxy.refuses = true
    const { failure, message } = await failureOf(() =>
      collect(provider, requestFor(options('https://model.invalid'))),
    )
    expect(failure.type).toBe('unreachable')
    expect(message).toContain('503')
  })
})

describe.skipIf(certificate === undefined)('https, with a certificate made by openssl', () => {
  test.each(VARIANTS)(
    '$api goes through a tunnel of the proxy, end to end',
    async ({ provider, options }) => {
      const tls = certificate as NonNullable<typeof certificate>
      const server = await startModelServer({ responses: [] }, { tls })
      const proxy = await startProxy(() => server.port, 'someone:secret')
      vi.stubEnv('HTTPS_PROXY', proxy.url('someone:secret'))
      vi.stubEnv('SSL_CERT_FILE', tls.file)
      // The certificate is for this name, and only the proxy can reach it.
      const url = 'https://model.test:8443'
      expect(textOf(await collect(provider, requestFor(options(url))))).toBe('echo: hello')
      expect(proxy.seen).toEqual(['CONNECT model.test:8443'])
      expect(server.requests[0]?.headers['proxy-authorization']).toBeUndefined()
      await proxy.close()
      await server.close()
    },
  )
})

interface Proxy {
  seen: string[]
  refuses: boolean
  url(credentials: string): string
  close(): Promise<void>
}

/** Forwards all requests to one port of the loopback, regardless of their host. */
async function startProxy(target: () => number, credentials: string): Promise<Proxy> {
  const expected = `Basic ${Buffer.from(decodeURIComponent(credentials)).toString('base64')}`
  const sockets = new Set<Duplex>()
  const statusFor = (request: IncomingMessage): number => {
    if (request.headers['proxy-authorization'] !== expected) return 407
    return proxy.refuses ? 503 : 200
  }
  const server = createServer((request, response) => {
    proxy.seen.push(`${request.method} ${request.url}`)
    const status = statusFor(request)
    if (status !== 200) return void response.writeHead(status).end()
    const { 'proxy-authorization': _, ...headers } = request.headers
    const { pathname } = new URL(request.url ?? '')
    const forwarded = httpRequest(
      { host: '127.0.0.1', port: target(), method: request.method, path: pathname, headers },
      (answer) => answer.pipe(response.writeHead(answer.statusCode ?? 0, answer.headers)),
    )
    request.pipe(forwarded)
  })
  server.on('connect', (request: IncomingMessage, socket: Duplex) => {
    proxy.seen.push(`CONNECT ${request.url}`)
    sockets.add(socket)
    const status = statusFor(request)
    if (status !== 200) return void socket.end(`HTTP/1.1 ${status} no\r\n\r\n`)
    const tunnel = connect(target(), '127.0.0.1', () => {
      socket.write('HTTP/1.1 200 OK\r\n\r\n')
      socket.pipe(tunnel).pipe(socket)
    })
    tunnel.on('error', () => socket.destroy())
    socket.on('error', () => tunnel.destroy())
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const { port } = server.address() as AddressInfo
  const proxy: Proxy = {
    seen: [],
    refuses: false,
    url: (user) => `http://${user}@127.0.0.1:${port}`,
    close() {
      for (const socket of sockets) socket.destroy()
      server.closeAllConnections()
      return new Promise((resolve) => server.close(() => resolve()))
    },
  }
  return proxy
}
