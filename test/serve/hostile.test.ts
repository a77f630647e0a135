/** Requests that no honest client sends. None changes the home, none is answered with its data, and the server goes on. */
import { createConnection } from 'node:net'
import { expect, test } from 'vitest'
import { House } from '../support/cli.js'
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

  expect(house.log(id)).toBe(log)
  expect((await served.call('listAgents')).status).toBe(200)
  expect(served.running.stderr).not.toMatch(/unexpected|at .*\.(?:js|cjs):/)
  await served.stop()
})

test('a connection that sends its headers or body too slowly is closed, while others are answered', async () => {
  const served = await Served.start(new House())
  const slow = send(served.port, 'GET /v1/agents HTTP/1.1\r\nX-Slow: ')
  for (let sent = 0; sent < 20; sent += 1) expect((await served.call('listAgents')).status).toBe(200)
  expect(statusesIn(await slow)).toEqual(['408'])
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
