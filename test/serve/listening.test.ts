/** The sockets of the server: TLS, a socket that was passed on, and the end of an idle server. */
import { spawnSync } from 'node:child_process'
import { EventEmitter } from 'node:events'
import { chmodSync, chownSync } from 'node:fs'
import type { Server as HttpServer } from 'node:http'
import { request } from 'node:https'
import { type AddressInfo, createConnection, createServer } from 'node:net'
import path from 'node:path'
import { describe, expect, onTestFinished, test, vi } from 'vitest'
import { onIdle } from '../../plugins/serve/src/idle.js'
import { serverFor } from '../../plugins/serve/src/listen.js'
import type { Commands } from '../../plugins/shared/src/face/commands.js'
import { House, type Running } from '../support/cli.js'
import { Gate } from '../support/gate.js'
import { certificate } from '../support/model-server/certificate.js'
import { freePort } from '../support/ports.js'
import { waitFor } from '../support/wait.js'
import { linked, tokenOf } from './support.js'

function start(house: House, ...args: string[]): Running {
  return house.start(['serve', ...args], { env: linked(house) })
}

const hasActivator = spawnSync('systemd-socket-activate', ['--version']).status === 0

const isReady = (running: Running): Promise<void> =>
  waitFor(() => running.stderr.includes('the token is in') || running.child.exitCode !== null, 'the server')

/** The answer to bytes as they are. */
function ask(port: number, head: string): Promise<string> {
  return new Promise((resolve) => {
    const socket = createConnection(port, '127.0.0.1')
    let text = ''
    socket.setEncoding('utf8').on('data', (piece) => {
      text += piece
    })
    socket.on('error', () => undefined).on('close', () => resolve(text))
    socket.write(head)
  })
}

describe.concurrent('an address that other machines can reach', () => {
  test.skipIf(certificate === undefined)('is served with TLS', async () => {
    const house = new House()
    const { file } = certificate as { file: string }
    const keyFile = path.join(path.dirname(file), 'key.pem')
    const running = start(house, '--listen', '0.0.0.0:0', '--tls-cert', file, '--tls-key', keyFile)
    await isReady(running)
    const [, port] = /listening on https:\/\/0\.0\.0\.0:(\d+)/.exec(running.stderr) ?? []
    const status = (host: string) =>
      new Promise((resolve, reject) => {
        const headers = { host, authorization: `Bearer ${tokenOf(house)}` }
        request(
          { host: '127.0.0.1', port, path: '/v1/agents', headers, rejectUnauthorized: false },
          (answer) => resolve(answer.resume().statusCode),
        )
          .on('error', reject)
          .end()
      })
    expect(await status(`127.0.0.1:${port}`)).toBe(200)
    expect(await status('evil.example')).toBe(403)
    expect((await running.kill('SIGTERM')).exit).toBe(0)
  })

  test('needs --insecure without TLS, and a certificate needs its key', async () => {
    const house = new House()
    const running = start(house, '--listen', '0.0.0.0:0', '--insecure')
    await isReady(running)
    expect(running.stderr).toMatch(/listening on http:\/\/0\.0\.0\.0:\d+/)
    await running.kill('SIGTERM')
    expect(await start(house, '--tls-cert', '/dev/null').result).toMatchObject({ exit: 2 })
    const missing = await start(house, '--tls-cert', '/none', '--tls-key', '/none').result
    expect(missing).toMatchObject({ exit: 2, stderr: expect.stringContaining('cannot read /none') })
  })

  test('refuses a private key that others can read, or that another user owns', async () => {
    const house = new House()
    const [cert, key] = [house.write('cert.pem', ''), house.write('key.pem', '')]
    for (const mode of [0o644, 0o640, 0o602]) {
      chmodSync(key, mode)
      const { exit, stderr } = await start(house, '--tls-cert', cert, '--tls-key', key).result
      // A key of root may be readable by a group.
      const isRoots = process.geteuid?.() === 0 && mode === 0o640
      expect([mode, exit]).toEqual([mode, isRoots ? 1 : 11])
      if (!isRoots) expect(stderr).toContain(`other users can read or change the private key ${key}`)
    }
    chmodSync(key, 0o600)
    if (process.geteuid?.() === 0) {
      chownSync(key, 12345, 0)
      expect((await start(house, '--tls-cert', cert, '--tls-key', key).result).exit).toBe(11)
    }
    expect(house.exists()).toBe(false)
  })
})

test('a client that sends its headers or its body too slowly is closed', async () => {
  const security = { tlsCert: undefined, tlsKey: undefined, isInsecure: false }
  const short = { requestTimeout: 50, headersTimeout: 50, connectionsCheckingInterval: 10 }
  const limits = { maxHeaderSize: 16 * 1024, keepAliveTimeout: 1000, ...short }
  const http = serverFor({ kind: 'tcp', host: '127.0.0.1', port: 0 }, security, limits)
  http.on('request', (request) => request.resume())
  await new Promise<void>((resolve) => http.listen(0, '127.0.0.1', resolve))
  const { port } = http.address() as AddressInfo
  for (const beginning of [
    'GET / HTTP/1.1\r\nX-Slow: ',
    'POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 9\r\n\r\n{',
  ])
    expect(await ask(port, beginning)).toMatch(/^HTTP\/1\.1 408 /)
  http.close()
})

describe.concurrent('a socket that was passed on', () => {
  /** Starts the server as systemd does: the shell becomes the server, and its descriptor 3 is the socket. */
  async function passedOn(house: House, environment: string, ...args: string[]) {
    const listener = createServer()
    await new Promise<void>((resolve) => listener.listen(0, '127.0.0.1', resolve))
    const { port } = listener.address() as AddressInfo
    const { fd } = (listener as unknown as { _handle: { fd: number } })._handle
    const command = house.command('serve', '--listen', 'fd:3', ...args)
    // This process must accept nothing itself.
    const running = house.launch(['sh', '-c', `${environment} exec "$@"`, 'sh', ...command], {
      env: linked(house),
      inherits: fd,
    })
    listener.close()
    return { running, port }
  }

  test('is served, and the commands of the server do not have it', async () => {
    const house = new House()
    const gate = new Gate(house, 'g')
    const id = await house.spawn('a', ...gate.flags)
    const { running, port } = await passedOn(house, 'LISTEN_PID=$$ LISTEN_FDS=1')
    await isReady(running)
    expect(running.stderr).toContain('listening on')
    const body = '{"content":"hi"}'
    const answer = ask(
      port,
      `POST /v1/agents/${id}/messages HTTP/1.1\r\nHost: localhost:${port}\r\nConnection: close\r\nAuthorization: Bearer ${tokenOf(house)}\r\nContent-Type: application/json\r\nContent-Length: ${body.length}\r\n\r\n${body}`,
    )
    expect(await answer).toMatch(/^HTTP\/1\.1 202 /)
    await gate.isReached()
    await running.kill('SIGKILL')
    // With the command alone, the socket has no listener.
    const refused = await new Promise<string>((resolve) =>
      createConnection(port, '127.0.0.1')
        .on('error', (error: NodeJS.ErrnoException) => resolve(error.code ?? 'failed'))
        .on('connect', () => resolve('connected')),
    )
    expect(refused).toMatch(/ECONNREFUSED/)
    gate.open()
    await house.waitForRecord(id, 'run.completed')
  })

  test.skipIf(!hasActivator)(
    'by systemd-socket-activate starts the server with the first request, which is answered',
    async () => {
      const house = new House()
      await house.spawn('a')
      // The token of an earlier start, because the first request needs it.
      const first = start(house, '--listen', '127.0.0.1:0', '--exit-when-idle', '10ms')
      expect((await first.result).exit).toBe(0)
      const port = freePort()
      const variables = Object.entries(linked(house)).concat(Object.entries(house.env))
      const running = house.launch(
        [
          'systemd-socket-activate',
          `--listen=127.0.0.1:${port}`,
          ...[...new Map(variables).keys()].map((name) => `--setenv=${name}`),
          ...house.command('serve', '--listen', 'fd:3', '--exit-when-idle', '1s'),
        ],
        { env: linked(house) },
      )
      await waitFor(() => running.stderr.includes('Listening on'), 'the socket')
      expect(running.stderr).not.toContain('substrat:')
      const request = `GET /v1/agents HTTP/1.1\r\nHost: localhost:${port}\r\nConnection: close\r\nAuthorization: Bearer ${tokenOf(house)}\r\n\r\n`
      const answer = await ask(port, request)
      expect(answer).toMatch(/^HTTP\/1\.1 200 /)
      expect(answer).toContain('"path":"a"')
      expect((await running.result).exit).toBe(0)
    },
  )

  test.for([
    ['', 'LISTEN_PID is not set'],
    ['LISTEN_PID=1 LISTEN_FDS=1', 'LISTEN_PID is 1'],
    ['LISTEN_PID=$$ LISTEN_FDS=0', 'file descriptor 3 is not one of the 0'],
  ])('is refused with %s', async ([environment, why]) => {
    const house = new House()
    const { running } = await passedOn(house, environment as string)
    expect(await running.result).toMatchObject({ exit: 2, stderr: expect.stringContaining(why as string) })
    expect(house.exists()).toBe(false)
  })
})

describe('--exit-when-idle', () => {
  test('ends a server without requests', async () => {
    const running = start(new House(), '--listen', '127.0.0.1:0', '--exit-when-idle', '10ms')
    expect(await running.result).toMatchObject({ exit: 0 })
  })

  test('counts from the end of the last request, stream or command', () => {
    vi.useFakeTimers()
    onTestFinished(() => void vi.useRealTimers())
    const http = new EventEmitter()
    const commands = { count: 0, onEnd: (): void => undefined }
    const ends: number[] = []
    onIdle(http as HttpServer, commands as Commands, 100, () => ends.push(Date.now()))
    const response = new EventEmitter()
    vi.advanceTimersByTime(99)
    http.emit('request', {}, response)
    vi.advanceTimersByTime(1000)
    commands.count = 1
    response.emit('close')
    vi.advanceTimersByTime(1000)
    commands.count = 0
    commands.onEnd()
    vi.advanceTimersByTime(99)
    expect(ends).toEqual([])
    vi.advanceTimersByTime(1)
    expect(ends).toHaveLength(1)
  })

  test('needs a duration', async () => {
    const { exit, stderr } = await start(new House(), '--exit-when-idle', 'soon').result
    expect({ exit, stderr }).toMatchObject({ exit: 2, stderr: expect.stringContaining('write it as 30s') })
  })
})
