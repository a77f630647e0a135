/** Named tokens: their rights, and the server that sees them come and go. */
import { createHash } from 'node:crypto'
import {
  chmodSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs'
import { createConnection } from 'node:net'
import path from 'node:path'
import { describe, expect, test } from 'vitest'
import { House } from '../support/cli.js'
import { waitFor } from '../support/wait.js'
import { EventClient } from './event-client.js'
import { linked, Served } from './support.js'

const SCOPES = ['read', 'answer', 'all'] as const
type Scope = (typeof SCOPES)[number]

const WAIT = { prefer: 'wait' }
const SHELL = { tools: [{ name: 'shell', input: { command: 'echo hi > made' } }] }

async function add(house: House, name: string, may: Scope): Promise<Record<'authorization', string>> {
  return {
    authorization: `Bearer ${(await house.ok('serve', 'token', 'add', name, '--may', may)).stdout.trim()}`,
  }
}

function listOf(house: House): string {
  const folder = path.join(house.env.XDG_STATE_HOME as string, 'substrat')
  return path.join(folder, readdirSync(folder).find((name) => name.endsWith('.tokens.json')) as string)
}

describe.concurrent('a server that runs', () => {
  test('accepts a new token at once, and refuses a revoked one', async () => {
    const house = new House()
    const served = await Served.start(house)
    const headers = await add(house, 'phone', 'answer')
    expect(await served.call('showToken', { headers })).toMatchObject({
      status: 200,
      data: { name: 'phone', may: 'answer', read_only: false },
    })
    expect((await served.call('showToken')).data).toEqual({
      name: 'operator',
      id: expect.stringMatching(/^[0-9a-f]{16}$/),
      may: 'all',
      created_at: null,
      read_only: false,
    })
    await house.ok('serve', 'token', 'revoke', 'phone')
    const { status, problem } = await served.call('showToken', { headers })
    expect([status, problem.code, problem.detail]).toEqual([
      401,
      'UNAUTHORIZED',
      expect.stringContaining('replaced or revoked'),
    ])
    const again = await add(house, 'phone', 'read')
    expect((await served.call('showToken', { headers })).status).toBe(401)
    expect((await served.call('showToken', { headers: again })).data.may).toBe('read')
    await served.stop()
  })

  test('closes the streams of a revoked token with the reason, and no others', async () => {
    const house = new House()
    await house.spawn('a')
    const served = await Served.start(house)
    const [phone, desk] = [await add(house, 'phone', 'read'), await add(house, 'desk', 'read')]
    const follow = (at: string, headers: Record<string, string>) =>
      new EventClient(`${served.url}${at}`, headers)
    const closing = [follow('/v1/events', phone), follow('/v1/agents/a/events', phone)]
    const others = [
      follow('/v1/events', desk),
      follow('/v1/events', { authorization: `Bearer ${served.token}` }),
    ]
    for (const client of [...closing, ...others]) await waitFor(() => client.events.length > 0, 'an event')
    await house.ok('serve', 'token', 'revoke', 'phone')
    for (const client of closing) {
      await waitFor(() => client.ended === 1, 'the end of the stream')
      expect(client.events.at(-1)).toMatchObject({
        event: 'closed',
        data: { reason: 'revoked', problem: { code: 'UNAUTHORIZED', detail: 'the token phone was revoked' } },
      })
    }
    await house.ok('spawn', '--name', 'b')
    for (const client of others) await waitFor(() => client.named('agent').length > 0, 'a later event')
    expect(others.map(({ ended }) => ended)).toEqual([0, 0])
    for (const client of [...closing, ...others]) await client.close()
    await served.stop()
  })

  test('gives a waiting request of a revoked token no answer, and its turn continues', async () => {
    const house = new House()
    const script = { tools: [{ name: 'shell', input: { command: 'until [ -e go ]; do sleep 0.05; done' } }] }
    const id = await house.spawn(
      'a',
      '--allow',
      'all',
      '-o',
      house.scenario('s.json', script, { say: 'done' }),
    )
    const served = await Served.start(house)
    const headers = { ...WAIT, ...(await add(house, 'desk', 'all')) }
    const sent = served.call('sendMessage', { path: { agent: 'a' }, body: { content: 'hi' }, headers })
    await house.waitForRecord(id, 'tool.started')
    await house.ok('serve', 'token', 'revoke', 'desk')
    expect(await sent).toMatchObject({ status: 401, problem: { detail: 'the token desk was revoked' } })
    house.write('go', '')
    await house.waitForRecord(id, 'run.completed')
    await served.stop()
  })

  test('starts nothing for a token that is revoked while the body comes', async () => {
    const house = new House()
    const served = await Served.start(house)
    const { authorization } = await add(house, 'slow', 'all')
    const body = JSON.stringify({ name: 'late' })
    const socket = createConnection(served.port, '127.0.0.1')
    let answer = ''
    socket.setEncoding('utf8').on('data', (text) => {
      answer += text
    })
    socket.write(
      `POST /v1/agents HTTP/1.1\r\nHost: 127.0.0.1:${served.port}\r\nAuthorization: ${authorization}\r\nContent-Type: application/json\r\nContent-Length: ${body.length}\r\nExpect: 100-continue\r\n\r\n`,
    )
    // The server asks for the body after its checks.
    await waitFor(() => answer.includes('100 Continue'), 'the checks')
    await house.ok('serve', 'token', 'revoke', 'slow')
    socket.write(body)
    await waitFor(() => answer.includes('"UNAUTHORIZED"'), 'the refusal')
    expect((await served.call('listAgents')).data.agents).toEqual([])
    socket.destroy()
    await served.stop()
  })

  test('has 10,000 tokens', async () => {
    const house = new House()
    const first = await add(house, 'first', 'read')
    const list = JSON.parse(readFileSync(listOf(house), 'utf8'))
    for (let n = 1; n < 10_000; n++)
      list.tokens.push({ ...list.tokens[0], name: `t${n}`, sha256: n.toString(16).padStart(64, '0') })
    writeFileSync(listOf(house), JSON.stringify(list))
    const served = await Served.start(house)
    expect((await served.call('showToken', { headers: first })).data.name).toBe('first')
    expect(await house.run(['serve', 'token', 'add', 'more', '--may', 'read'])).toMatchObject({
      exit: 2,
      stderr: expect.stringContaining('there are 10000 named tokens, which is the limit'),
    })
    await house.ok('serve', 'token', 'revoke', 't9999')
    const last = await add(house, 'last', 'read')
    expect((await served.call('showToken', { headers: last })).data.name).toBe('last')
    await served.stop()
  })
})

describe.concurrent('the right of a token', () => {
  test('is stated for each request, and every request that changes something needs more than read', async () => {
    const served = await Served.start(new House())
    for (const [at, method, needed] of requestsOf(served)) {
      expect(SCOPES, at).toContain(needed)
      expect([at, needed !== 'read']).toEqual([at, method !== 'get'])
    }
    const answering = requestsOf(served).filter(([, , needed]) => needed === 'answer')
    expect(answering.map(([at]) => at.split('/').at(-1)).sort()).toEqual([
      'answer',
      'approve',
      'deny',
      'resume',
    ])
    await served.stop()
  })

  test('refuses every request beyond it, before the body comes and before a command starts', async () => {
    const house = new House()
    const id = await house.spawn('a')
    const served = await Served.start(house)
    const before = house.records(id)
    let refused = 0
    for (const may of ['read', 'answer'] as const) {
      const { authorization } = await add(house, may, may)
      for (const [at, method, needed] of requestsOf(served)) {
        if (SCOPES.indexOf(needed) <= SCOPES.indexOf(may)) continue
        const [head, body] = await answerWithoutBody(
          served,
          method,
          at.replace('{agent}', 'a'),
          authorization,
        )
        const { code, detail, next } = body.error === undefined ? body : errorOf(body.error)
        expect([at, head.split('\r\n')[0]]).toEqual([at, 'HTTP/1.1 403 Forbidden'])
        expect([at, code]).toEqual([at, body.error === undefined ? 'INSUFFICIENT_SCOPE' : 'missing_scope'])
        expect(head).toContain(`error="insufficient_scope", scope="${needed}"`)
        expect(detail).toContain(`the token ${may} may not do this: it may only read`)
        expect(next).toContain(`substrat serve token add NAME --may ${needed}`)
        refused += 1
      }
    }
    expect(refused).toBeGreaterThan(25)
    expect(house.records(id)).toEqual(before)
    expect((await served.call('listAgents')).data.agents).toHaveLength(1)
    await served.stop()
  })

  test('answer decides about a turn as it is, and allows nothing more', async () => {
    const house = new House()
    const asks = { tools: [{ name: 'ask_operator', input: { question: 'Which?' } }] }
    const id = await house.spawn('a', '-o', house.scenario('s.json', SHELL, asks, { say: 'done' }))
    await house.run(['send', 'a', 'hi'])
    const served = await Served.start(house)
    const phone = await add(house, 'phone', 'answer')
    const headers = { ...phone, ...WAIT }
    const of = { path: { agent: 'a' }, headers }
    const { data: pending } = await served.call('showPending', { path: of.path, headers: phone })
    const token_id = pending.token_id as string
    const edits = [{ call_id: pending.calls[0]?.call_id as string, input: { command: 'echo other' } }]
    for (const [body, what] of [
      [{ token_id, edits }, 'change the arguments of a call'],
      [{ token_id, always: true }, 'allow later calls'],
    ] as const)
      expect(await served.call('approveCalls', { ...of, body })).toMatchObject({
        status: 403,
        problem: {
          code: 'INSUFFICIENT_SCOPE',
          detail: expect.stringContaining(`the token phone may not ${what}`),
        },
      })
    expect((await served.call('resumeAgent', { ...of, body: {} })).problem.code).toBe('INSUFFICIENT_SCOPE')
    expect(house.count(id, 'token.consumed')).toBe(0)
    const approved = await served.call('approveCalls', { ...of, body: { token_id } })
    expect(approved).toMatchObject({ status: 200, data: { wait: { kind: 'input' } } })
    expect(house.read('made')).toBe('hi\n')
    const [consumed] = house.records(id).filter(({ kind }) => kind === 'token.consumed')
    expect(consumed).toMatchObject({ actor: { face: 'http', token: 'phone' } })
    const answered = await served.call('answerQuestion', { ...of, body: { text: 'the blue one' } })
    expect(answered).toMatchObject({ status: 200, data: { reply: 'done' } })
    await served.stop()
  })

  test('answer gives the result of a call with the resume token of its wait', async () => {
    const house = new House()
    const waits = { tools: [{ name: 'await_external', input: { what: 'the build' } }] }
    await house.spawn('a', '-o', house.scenario('s.json', waits, { say: 'done' }))
    const { json } = await house.run(['send', 'a', 'hi', '--json'])
    const served = await Served.start(house)
    const path = { agent: 'a' }
    const body = { decision: 'result', text: 'built', token: json.wait.token } as const
    const [reader, phone] = [await add(house, 'reader', 'read'), await add(house, 'phone', 'answer')]
    expect((await served.call('resumeAgent', { path, body, headers: reader })).status).toBe(403)
    const given = await served.call('resumeAgent', { path, body, headers: { ...phone, ...WAIT } })
    expect(given).toMatchObject({ status: 200, data: { reply: 'done' } })
    await served.stop()
  })

  test('is that of the token also if the token begins as a resume token does', async () => {
    const house = new House()
    await house.spawn('a')
    await add(house, 'phone', 'read')
    const token = `st_${'x'.repeat(40)}`
    edit(listOf(house), (text) => {
      const { tokens } = JSON.parse(text)
      return JSON.stringify({
        tokens: [{ ...tokens[0], sha256: createHash('sha256').update(token).digest('hex') }],
      })
    })
    const served = await Served.start(house)
    const headers = { authorization: `Bearer ${token}` }
    const resumed = await served.call('resumeAgent', { path: { agent: 'a' }, body: {}, headers })
    expect(resumed.problem.code).toBe('INSUFFICIENT_SCOPE')
    await served.stop()
  })

  test('does not matter to a server that only reads', async () => {
    const house = new House()
    await house.spawn('a')
    const served = await Served.start(house, '--read-only')
    for (const may of SCOPES) {
      const headers = await add(house, may, may)
      expect((await served.call('showToken', { headers })).data).toMatchObject({ may, read_only: true })
      const stopped = await served.call('suspendAgent', { path: { agent: 'a' }, body: {}, headers })
      expect([may, stopped.problem.code]).toEqual([may, 'READ_ONLY'])
    }
    await served.stop()
  })
})

const DAMAGE: [string, string, (list: string) => void][] = [
  ['that other users can read', 'HOME_EXPOSED', (list) => chmodSync(list, 0o644)],
  ['that other users can write', 'HOME_EXPOSED', (list) => chmodSync(list, 0o620)],
  [
    'that a symbolic link replaced',
    'HOME_EXPOSED',
    (list) => {
      renameSync(list, `${list}.moved`)
      symlinkSync(`${list}.moved`, list)
    },
  ],
  ['that is cut off', 'CORRUPT', (list) => writeFileSync(list, readFileSync(list, 'utf8').slice(0, 60))],
  ['that is empty', 'CORRUPT', (list) => writeFileSync(list, '')],
  [
    'with an unknown right',
    'CORRUPT',
    (list) => edit(list, (text) => text.replace('"read"', '"everything"')),
  ],
  ['with a name twice', 'CORRUPT', (list) => edit(list, twice)],
  [
    'that a directory replaced',
    'CORRUPT',
    (list) => {
      rmSync(list)
      mkdirSync(list)
    },
  ],
]

describe.concurrent('a list', () => {
  test.each(DAMAGE)(
    '%s allows nothing but the token of the operator, and is replaced by --all',
    async (_, code, spoil) => {
      const house = new House()
      const served = await Served.start(house)
      const headers = await add(house, 'phone', 'read')
      const client = new EventClient(`${served.url}/v1/events`, headers)
      await waitFor(() => client.events.length > 0, 'an event')
      const list = listOf(house)
      spoil(list)
      const { status, problem } = await served.call('showToken', { headers })
      expect({ status, code: problem.code, next: problem.next }).toEqual({
        status: 500,
        code,
        next: 'see why: substrat serve token list',
      })
      // A stranger learns no path.
      expect(JSON.stringify(problem)).not.toContain(house.root)
      await waitFor(() => client.ended === 1, 'the end of the stream')
      expect(client.events.at(-1)).toMatchObject({ event: 'closed', data: { reason: 'failed' } })
      expect((await served.call('listAgents')).status).toBe(200)
      expect(served.running.stderr.split('the list of named tokens').length).toBe(2)
      const listed = await house.run(['serve', 'token', 'list'])
      expect(listed.stderr).toContain(`the list of named tokens ${list} cannot be used: `)
      const again = await house.start(['serve', '--listen', '127.0.0.1:0'], { env: linked(house) }).result
      expect([again.exit, again.stderr]).toEqual([listed.exit, expect.stringContaining(listed.stderr.trim())])
      expect((await house.run(['serve', 'token', 'add', 'other', '--may', 'all'])).exit).toBe(listed.exit)
      const [, command = ''] = /: substrat (serve token revoke --all)\)/.exec(listed.stderr) ?? []
      if (command === '') rmSync(list, { recursive: true })
      else await house.ok(...command.split(' '))
      expect((await served.call('showToken', { headers })).status).toBe(401)
      const other = await add(house, 'other', 'read')
      expect((await served.call('showToken', { headers: other })).status).toBe(200)
      await client.close()
      await served.stop()
    },
  )

  test('that vanishes revokes every named token, and not the token of the operator', async () => {
    const house = new House()
    const served = await Served.start(house)
    const headers = await add(house, 'phone', 'all')
    const client = new EventClient(`${served.url}/v1/events`, headers)
    await waitFor(() => client.events.length > 0, 'an event')
    rmSync(listOf(house))
    await waitFor(() => client.ended === 1, 'the end of the stream')
    expect(client.events.at(-1)?.data.reason).toBe('revoked')
    expect((await served.call('showToken', { headers })).status).toBe(401)
    expect((await served.call('showToken')).status).toBe(200)
    await client.close()
    await served.stop()
  })

  test('has no token in it, and neither the server nor the list prints one', async () => {
    const house = new House()
    const served = await Served.start(house)
    const { authorization } = await add(house, 'phone', 'all')
    const token = authorization.slice('Bearer '.length)
    await served.call('showToken', { headers: { authorization } })
    await served.call('listAgents', { headers: { authorization: `${authorization}x` } })
    const { stdout } = await house.ok('serve', 'token', 'list', '--json')
    for (const text of [readFileSync(listOf(house), 'utf8'), stdout, served.running.stderr])
      expect(text).not.toContain(token)
    await served.stop()
  })
})

function edit(file: string, change: (text: string) => string): void {
  writeFileSync(file, change(readFileSync(file, 'utf8')))
}

function twice(text: string): string {
  const { tokens } = JSON.parse(text)
  return JSON.stringify({ tokens: [...tokens, { ...tokens[0], sha256: '0'.repeat(64) }] })
}

/** The path, the method, and the right that each request needs, as the document says. */
function requestsOf({ document }: Served): [at: string, method: string, needed: Scope][] {
  return Object.entries(document.paths).flatMap(([at, methods]) =>
    Object.entries(methods).map(([method, { security }]): [string, string, Scope] => [
      at,
      method,
      security?.find(({ token }) => token !== undefined)?.token?.[0] as Scope,
    ]),
  )
}

/** Sends the head of a request with a long body, but never the body. */
function answerWithoutBody(
  served: Served,
  method: string,
  at: string,
  authorization: string,
  // biome-ignore lint/suspicious/noExplicitAny: an error of one of two forms
): Promise<[head: string, body: any]> {
  return new Promise((resolve, reject) => {
    const socket = createConnection(served.port, '127.0.0.1')
    let text = ''
    socket.setEncoding('utf8').on('error', reject)
    socket.on('data', (piece) => {
      text += piece
      const [head = '', body = ''] = text.split('\r\n\r\n')
      const bytes = Number(/content-length: (\d+)/i.exec(head)?.[1] ?? Number.NaN)
      if (Buffer.byteLength(body) < bytes || Number.isNaN(bytes)) return
      socket.destroy()
      resolve([head, JSON.parse(body)])
    })
    socket.write(
      `${method.toUpperCase()} ${at} HTTP/1.1\r\nHost: 127.0.0.1:${served.port}\r\nAuthorization: ${authorization}\r\nContent-Type: application/json\r\nContent-Length: 1000000\r\n\r\n`,
    )
  })
}

function errorOf({ message, code }: { message: string; code: string }) {
  return { code, detail: message, next: message }
}
