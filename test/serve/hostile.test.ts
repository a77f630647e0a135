/** Requests that no honest client sends. None changes the home, none is answered with its data, and the server goes on. */
import { createServer } from 'node:http'
import { type AddressInfo, createConnection } from 'node:net'
import { expect, test } from 'vitest'
import { cutConnections } from '../../plugins/serve/src/cut.js'
import { House } from '../support/cli.js'
import { waitFor } from '../support/wait.js'
import { Served } from './support.js'

/** Sends bytes as they are; the answer is all that comes until the server closes the connection. */
function send(port: number, ...pieces: string[]): Promise<string> {
  return new Promise((resolve) => {
    const socket = createConnection(port, '127.0.0.1')
    let text = ''
    socket.setEncoding('utf8').on('data', (piece) => {
      text += piece
    })
    socket.on('error', () => undefined).on('close', () => resolve(text))
    for (const piece of pieces) socket.write(piece)
  })
}

const statusesIn = (answer: string): string[] =>
  [...answer.matchAll(/^HTTP\/1\.1 (\d{3})/gm)].map(([, status]) => status as string)

test('hostile requests are refused, and the home and other clients notice nothing', async () => {
  const house = new House()
  const id = await house.spawn('a')
  const served = await Served.start(house)
  const { port, token } = served
  const log = house.log(id)
  const head = (line: string, ...headers: string[]): string =>
    `${[`${line} HTTP/1.1`, `Host: 127.0.0.1:${port}`, `Authorization: Bearer ${token}`, 'Connection: close', ...headers].join('\r\n')}\r\n\r\n`

  // Names that lead out of the home, and invalid names.
  for (const name of [
    '..%2f..%2fetc%2fpasswd',
    '%2e%2e',
    '..',
    '%00',
    '%ff',
    '%',
    'a%0d%0aX-Injected:1',
    '-h',
    '--json',
    'x'.repeat(8000),
  ]) {
    const answer = await send(port, head(`GET /v1/agents/${name}/records`))
    expect([name, ...statusesIn(answer)]).toEqual([name, expect.stringMatching(/^40[04]$/)])
    expect(answer).not.toMatch(/root:|^X-Injected/im)
  }

  // Two lengths, or bytes after the first request, do not make a second request without the checks.
  const smuggled = `POST /v1/agents/a/gate HTTP/1.1\r\nHost: 127.0.0.1:${port}\r\nContent-Type: application/json\r\nContent-Length: 2\r\n\r\n{}`
  for (const headers of [
    ['Content-Length: 4', 'Transfer-Encoding: chunked'],
    ['Transfer-Encoding: chunked', 'Transfer-Encoding: identity'],
    ['Content-Length: 0', 'Content-Length: 5'],
    ['Transfer-Encoding : chunked'],
    ['Content-Length: +5'],
  ])
    expect(
      statusesIn(
        await send(
          port,
          `${head('POST /v1/agents/a/gate', 'Content-Type: application/json', ...headers)}0\r\n\r\n${smuggled}`,
        ),
      ),
    ).toEqual(['400'])

  // Pages of other sites. No answer lets one read it.
  const preflight = await send(
    port,
    head('OPTIONS /v1/agents', 'Origin: https://evil.example', 'Access-Control-Request-Method: POST'),
  )
  const simple = await send(
    port,
    head('POST /v1/agents/a/gate', 'Origin: null', 'Content-Type: text/plain', 'Content-Length: 2'),
    '{}',
  )
  for (const answer of [preflight, simple]) {
    expect(statusesIn(answer)).toEqual(['403'])
    expect(answer).not.toMatch(/access-control-allow/i)
  }
  const rebound = head('GET /v1/agents').replace(`127.0.0.1:${port}`, 'evil.com')
  expect(statusesIn(await send(port, rebound))).toEqual(['403'])
  const absolute = head(`GET http://evil.com/v1/agents`)
  expect(statusesIn(await send(port, absolute))).not.toContain('500')

  // Neither many headers nor a name with a prototype.
  const many = Array.from({ length: 3000 }, (_, index) => `X-${index}: 1`)
  expect(statusesIn(await send(port, head('GET /v1/agents', ...many)))).toEqual(['431'])
  expect((await served.post('/v1/agents', JSON.parse('{"__proto__":{"a":1},"constructor":1}'))).status).toBe(
    400,
  )
  expect((await served.fetch('/v1/agents?__proto__=1')).status).toBe(400)
  const deep = await served.fetch('/v1/agents', {
    method: 'POST',
    body: '['.repeat(100_000),
    headers: { 'content-type': 'application/json' },
  })
  expect(deep.status).toBe(400)

  // Fields that no command line can carry.
  const long = 'x'.repeat(200_000)
  for (const [at, body] of [
    ['/v1/agents', { name: 'b', instructions: long }],
    ['/v1/agents', { name: 'b', options: Object.fromEntries(Array.from(long, (_, index) => [index, 'v'])) }],
    ['/v1/agents', { name: 'b', parent: 'a', model: 'a\0b' }],
    ['/v1/agents/a/deny', { reason: long }],
  ] as const)
    expect((await served.post(at, body)).status).toBe(400)
  const unknown = await served.post('/v1/agents', Object.fromEntries(Array.from(long, (_, at) => [at, 1])))
  expect((await unknown.text()).length).toBeLessThan(2000)

  expect(house.log(id)).toBe(log)
  expect((await served.call('listAgents')).status).toBe(200)
  expect(served.running.stderr).not.toMatch(/unexpected|at .*\.(?:js|cjs):/)
  await served.stop()
})

test('more connections than the limit leave the server alive', async () => {
  const served = await Served.start(new House())
  const sockets = Array.from({ length: 1100 }, () =>
    createConnection(served.port, '127.0.0.1').on('error', () => undefined),
  )
  await Promise.all(
    sockets.map((socket) => new Promise((resolve) => socket.once('connect', resolve).once('close', resolve))),
  )
  for (const socket of sockets) socket.destroy()
  let status = 0
  while (status !== 200)
    status = await served.fetch('/v1/agents').then(
      (answer) => answer.status,
      () => 0,
    )
  await served.stop()
})

test('a text in place of a resume token starts no command, and does not tell which agents exist', async () => {
  const house = new House()
  await house.spawn('a')
  const served = await Served.start(house)
  const answers = ['a', 'nobody', 'a%2Fb'].flatMap((agent) =>
    ['st_x', `st_${'0'.repeat(8)}-0000-0000-0000-${'0'.repeat(12)}_${'A'.repeat(32)}`].map(async (token) => {
      // A body that never ends is not read.
      const head = `POST /v1/agents/${agent}/resume HTTP/1.1\r\nHost: 127.0.0.1:${served.port}\r\nAuthorization: Bearer ${token}\r\n`
      const answer = await send(
        served.port,
        `${head}Content-Type: application/json\r\nTransfer-Encoding: chunked\r\n\r\n1\r\n{\r\n`,
      )
      const { detail, next, facts } = JSON.parse(answer.slice(answer.indexOf('\r\n\r\n')))
      return [...statusesIn(answer), detail, next, facts]
    }),
  )
  const [first, ...others] = await Promise.all(answers)
  expect(first?.[0]).toBe('403')
  for (const other of others) expect(other).toEqual(first)
  await served.stop()
})

test('a body that goes on after a refusal ends its connection', async () => {
  const served = await Served.start(new House())
  const socket = createConnection(served.port, '127.0.0.1').on('error', () => undefined)
  let answer = ''
  let isClosed = false
  socket.setEncoding('utf8').on('data', (text) => {
    answer += text
  })
  socket.on('close', () => {
    isClosed = true
  })
  const head = `POST /v1/agents HTTP/1.1\r\nHost: 127.0.0.1:${served.port}\r\nContent-Type: application/json\r\n`
  socket.write(`${head}Transfer-Encoding: chunked\r\n\r\n`)
  const piece = `10000\r\n${'x'.repeat(0x10000)}\r\n`
  await waitFor(() => {
    if (!isClosed && socket.writableLength === 0) socket.write(piece)
    return isClosed
  }, 'the end of the connection')
  expect(statusesIn(answer)).toEqual(['401'])
  await served.stop()
})

test('a client that does not take its answer is cut off, and one that waits for its answer is not', async () => {
  const http = createServer((request, response) => {
    if (request.url === '/large') response.end(Buffer.alloc(64 * 1024 * 1024))
    else waiting = () => response.end('late')
  })
  let waiting = (): unknown => undefined
  cutConnections(http, { stallMs: 50, lingerMs: 50 })
  await new Promise<void>((resolve) => http.listen(0, '127.0.0.1', resolve))
  const { port } = http.address() as AddressInfo
  const late = send(port, 'GET /late HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n')
  const stalled = createConnection(port, '127.0.0.1').on('error', () => undefined)
  stalled.pause()
  stalled.write('GET /large HTTP/1.1\r\nHost: x\r\n\r\n')
  const count = (): Promise<number> =>
    new Promise((resolve) => http.getConnections((_, number) => resolve(number)))
  let open = 0
  await waitFor(async () => {
    open = Math.max(open, await count())
    return open === 2 && (await count()) === 1
  }, 'the end of the stalled connection')
  waiting()
  expect(statusesIn(await late)).toEqual(['200'])
  stalled.destroy()
  http.close()
})

test('HEAD for a stream opens none, and many open streams and waits leave no warning', async () => {
  const house = new House()
  await house.spawn('a')
  const served = await Served.start(house)
  for (let sent = 0; sent < 520; sent += 1)
    expect((await served.fetch('/v1/events', { method: 'HEAD' })).status).toBe(200)
  const streams = await Promise.all(Array.from({ length: 12 }, () => served.fetch('/v1/events')))
  expect(streams.map(({ status }) => status)).toEqual(Array(12).fill(200))
  const answers = Array.from({ length: 12 }, () =>
    served.post('/v1/agents/a/messages', { content: 'hi' }, { prefer: 'wait' }),
  )
  for (const answer of answers) await (await answer).text()
  for (const stream of streams) await stream.body?.cancel()
  expect(served.running.stderr).not.toContain('warning')
  await served.stop()
})
