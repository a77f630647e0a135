/** The checks of requests and addresses. */
import { chmodSync, existsSync, readdirSync, statSync } from 'node:fs'
import { request } from 'node:http'
import { createConnection } from 'node:net'
import path from 'node:path'
import { describe, expect, test } from 'vitest'
import { House } from '../support/cli.js'
import { hasTmux, Terminal } from '../support/terminal.js'
import { waitFor } from '../support/wait.js'
import { linked, Served, tokenOf } from './support.js'

/** fetch sets Host itself. */
function raw(
  port: number,
  headers: Record<string, string>,
  at = '/v1/agents',
): Promise<{ status: number; body: string }> {
  return new Promise((resolve, reject) => {
    request({ port, host: '127.0.0.1', path: at, headers }, (response) => {
      let body = ''
      response.setEncoding('utf8').on('data', (text) => {
        body += text
      })
      response.on('end', () => resolve({ status: response.statusCode ?? 0, body }))
    })
      .on('error', reject)
      .end()
  })
}

function tokenFile(house: House): string {
  const folder = path.join(house.env.XDG_STATE_HOME as string, 'substrat')
  return path.join(folder, readdirSync(folder)[0] as string)
}

describe.concurrent('the token', () => {
  test('is in a file that only its owner can read, and is never printed into a pipe', async () => {
    const house = new House()
    const first = await Served.start(house)
    expect(statSync(tokenFile(house)).mode & 0o777).toBe(0o600)
    expect(first.running.stderr).not.toContain(first.token)
    const [, command = ''] =
      /^substrat: the link with the token: substrat (.+)$/m.exec(first.running.stderr) ?? []
    const printed = await house.start(command.split(' '), { env: linked(house) }).result
    expect(printed).toMatchObject({ exit: 0, stdout: `${first.url}/#token=${first.token}\n`, stderr: '' })
    await first.stop()
    const second = await Served.start(house)
    expect(second.token).toBe(first.token)
    expect(second.running.stderr).not.toContain(first.token)
    expect((await second.call('listAgents')).status).toBe(200)
    await second.stop()
  })

  test.skipIf(!hasTmux)('is in a link at each start at a terminal', async () => {
    const house = new House()
    for (let start = 1; start <= 2; start++) {
      const terminal = new Terminal(house, { env: linked(house), columns: 200 })
      terminal.type('substrat serve --listen 127.0.0.1:0')
      const screen = await terminal.shows('the token is in')
      expect(screen).toMatch(/^substrat: open http:\/\/127\.0\.0\.1:\d+\/#token=/m)
      expect(screen).toContain(`#token=${tokenOf(house)}\n`)
      terminal.press('C-c')
      await terminal.shows(/\$$/)
      terminal.close()
    }
  })

  test('has no link without a port', async () => {
    const house = new House()
    const listen = ['serve', '--print-link', '--listen', 'unix:/tmp/none']
    const { exit, stderr } = await house.start(listen, { env: linked(house) }).result
    expect(exit).toBe(2)
    expect(stderr).toContain('--listen IP:PORT')
  })

  test('is replaced by --new-token', async () => {
    const house = new House()
    const first = await Served.start(house)
    await first.stop()
    const second = await Served.start(house, '--new-token')
    expect(second.token).not.toBe(first.token)
    const authorization = `Bearer ${first.token}`
    expect((await second.call('listAgents', { headers: { authorization } })).problem.code).toBe(
      'UNAUTHORIZED',
    )
    await second.stop()
  })

  test('must be that of the server for every route but the document', async () => {
    const served = await Served.start(new House())
    for (const [at, methods] of Object.entries(served.document.paths))
      for (const method of Object.keys(methods))
        for (const authorization of ['', 'Bearer x', `Basic ${served.token}`, `Bearer ${served.token}x`]) {
          const response = await served.fetch(at, {
            method: method.toUpperCase(),
            headers: { authorization },
          })
          expect([at, response.status]).toEqual([at, 401])
          expect(response.headers.get('www-authenticate')).toContain('Bearer')
        }
    await served.stop()
  })

  test('is refused if others can read its file', async () => {
    const house = new House()
    await (await Served.start(house)).stop()
    chmodSync(tokenFile(house), 0o644)
    const { exit, stderr } = await house.start(['serve', '--listen', '127.0.0.1:0'], { env: linked(house) })
      .result
    expect(exit).toBe(11)
    expect(stderr).toMatch(
      /other users can use the token in .+ \(make a new one: substrat serve --new-token\)\n$/,
    )
  })
})

describe.concurrent('a request', () => {
  test('for another host name is refused, as a page that rebinds its DNS name would send it', async () => {
    const served = await Served.start(new House(), '--allow-host', 'box.local')
    const authorization = `Bearer ${served.token}`
    const status = async (host: string) => (await raw(served.port, { host, authorization })).status
    for (const host of [
      `127.0.0.1:${served.port}`,
      `localhost:${served.port}`,
      'BOX.local',
      `box.local:${served.port}`,
    ])
      expect([host, await status(host)]).toEqual([host, 200])
    for (const host of [
      'evil.example',
      `evil.example:${served.port}`,
      '127.0.0.1:1',
      'localhost.evil.example',
    ])
      expect([host, await status(host)]).toEqual([host, 403])
    await served.stop()
  })

  test('from a page of another origin is refused before its token is looked at', async () => {
    const served = await Served.start(new House())
    const codeOf = async (origin: string) =>
      JSON.parse((await raw(served.port, { host: `localhost:${served.port}`, origin })).body).code
    expect(await codeOf('https://evil.example')).toBe('ORIGIN_REFUSED')
    expect(await codeOf('null')).toBe('ORIGIN_REFUSED')
    expect(await codeOf(`http://localhost:${served.port}`)).toBe('UNAUTHORIZED')
    await served.stop()
  })

  test('with a wrong name in its query, for another path or with another method gets a problem that says what to do', async () => {
    const served = await Served.start(new House())
    const problem = async (at: string, init?: RequestInit) => {
      const response = await served.fetch(at, init)
      expect(response.headers.get('content-type')).toBe('application/problem+json')
      return (await response.json()) as object
    }
    expect(await problem('/v1/agents?stat=idle')).toMatchObject({ status: 400, code: 'USAGE', who: 'caller' })
    expect(await problem('/v1/agents?status=bad')).toMatchObject({
      next: expect.stringContaining('needs_you'),
    })
    expect(await problem('/v2/agents')).toMatchObject({ status: 404, code: 'NO_SUCH_PATH' })
    expect(await problem('/v1/tree', { method: 'DELETE' })).toMatchObject({
      status: 405,
      code: 'METHOD_REFUSED',
    })
    expect(await problem('/v1/agents/nobody')).toEqual({
      type: 'urn:substrat:error:AGENT_NOT_FOUND',
      title: 'AGENT_NOT_FOUND',
      status: 404,
      detail: 'there is no agent "nobody"',
      code: 'AGENT_NOT_FOUND',
      where: 'nobody',
      who: 'caller',
      next: 'list all agents: substrat list --all',
      facts: { agent: 'nobody' },
    })
    await served.stop()
  })

  test('with headers of more than 16 KiB is refused', async () => {
    const served = await Served.start(new House())
    expect((await raw(served.port, { host: 'localhost', 'x-long': 'x'.repeat(17_000) })).status).toBe(431)
    await served.stop()
  })
})

describe.concurrent('an address', () => {
  test('that other machines can reach is refused', async () => {
    const house = new House()
    const { exit, stderr } = await house.start(['serve', '--listen', '0.0.0.0:0'], { env: linked(house) })
      .result
    expect({ exit, isThere: house.exists() }).toEqual({ exit: 2, isThere: false })
    expect(stderr).toContain('0.0.0.0 can be reached by other machines')
  })

  test('can be a unix socket that only its owner can use; that of a dead server is replaced, a living one is not', async () => {
    const house = new House()
    const socket = path.join(house.root, 's')
    const start = () => house.start(['serve', '--listen', `unix:${socket}`], { env: linked(house) })
    const ready = async (running: ReturnType<typeof start>) =>
      waitFor(() => running.stderr.includes('the token is in'), 'the server')
    const first = start()
    await ready(first)
    expect(statSync(socket).mode & 0o077).toBe(0)
    expect((await start().result).stderr).toContain('another server listens on')
    await first.kill('SIGKILL')
    expect(existsSync(socket)).toBe(true)
    const second = start()
    await ready(second)
    const answer = await new Promise<string>((resolve) => {
      const client = createConnection(socket)
      client.end(`GET /v1/agents HTTP/1.0\r\nAuthorization: Bearer ${tokenOf(house)}\r\n\r\n`)
      let text = ''
      client.setEncoding('utf8').on('data', (piece) => {
        text += piece
      })
      client.on('close', () => resolve(text))
    })
    expect(answer).toMatch(/^HTTP\/1\.1 200 OK/)
    await second.kill('SIGTERM')
  })

  test('that is in use ends the command with a sentence', async () => {
    const house = new House()
    const served = await Served.start(house)
    const again = house.start(['serve', '--listen', `127.0.0.1:${served.port}`], { env: linked(house) })
    expect(await again.result).toMatchObject({
      exit: 2,
      stderr: expect.stringContaining('choose another address'),
    })
    // The server that holds the port keeps its token, and nothing is printed that opens it.
    const another = new House()
    const refused = await another.start(['serve', '--listen', `127.0.0.1:${served.port}`, '--new-token'], {
      env: linked(another),
    }).result
    expect(refused).toMatchObject({ exit: 2 })
    expect(refused.stderr + refused.stdout).not.toContain('token')
    const started = await Served.start(another)
    expect(started.running.stderr).toContain('--print-link')
    await started.stop()
    await served.stop()
  })
})

test('an agent cannot start a server, which would give it the rights of a person', async () => {
  const house = new House()
  const id = await house.spawn('a')
  const env = { ...linked(house), SUBSTRAT_AGENT: id }
  const { exit, stderr } = await house.start(['serve', '--listen', '127.0.0.1:0'], { env }).result
  expect({ exit, stderr }).toMatchObject({
    exit: 13,
    stderr: expect.stringContaining('an agent may not start a server'),
  })
})
