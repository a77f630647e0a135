/** Statements on a Unix socket, in the thread that waits for them. */
import { closeSync, openSync, readFileSync, writeFileSync, writeSync } from 'node:fs'
import path from 'node:path'
import { Worker } from 'node:worker_threads'
import { afterAll, beforeAll, beforeEach, describe, expect, onTestFinished, test, vi } from 'vitest'
import { BlockingConnection, PasswordWanted } from '../../plugins/store-postgres/src/blocking-connection.js'
import { BlockingExecutor } from '../../plugins/store-postgres/src/blocking-executor.js'
import { newClient } from '../../plugins/store-postgres/src/connection.js'
import type { Answer, Statement } from '../../plugins/store-postgres/src/protocol.js'
import { type SocketTarget, targetOf } from '../../plugins/store-postgres/src/target.js'
import { uptimeMs } from '../../plugins/store-postgres/src/uptime.js'
import { Postgres, whyNoPostgres } from '../support/postgres.js'
import { tempDirectory } from '../support/temp.js'

const PATIENCE_MS = 60_000

function executorAt(target: SocketTarget, deadlineMs = 0, whileWaiting: () => void = () => undefined) {
  const deadlines = new BigInt64Array(new SharedArrayBuffer(8))
  deadlines[0] = BigInt(Math.round(deadlineMs))
  return new BlockingExecutor(target, deadlines, whileWaiting, 'postgres:///home')
}

function ask(
  executor: BlockingExecutor,
  text: string,
  values: unknown[] = [],
  more: Partial<Statement> = {},
): Answer {
  executor.begin({ text, values, untilMs: uptimeMs() + PATIENCE_MS, ...more })
  return executor.answer()
}

describe.skipIf(whyNoPostgres() !== undefined)('on the socket of a server', () => {
  let server: Postgres
  let target: SocketTarget
  beforeAll(() => {
    server = new Postgres()
    target = targetOf(server.url('postgres'), undefined).socket as SocketTarget
  })
  afterAll(() => {
    server?.remove()
  })
  let executor: BlockingExecutor
  beforeEach(() => {
    executor = executorAt(target)
  })

  test.each([
    ['numbers', 'select 1 as small, 4000000000::bigint as large, 1.5::float8 as part, null::int as none', []],
    ['texts', "select $1::text as given, '' as empty", ['ä\n"\\€😀']],
    ['bytes', 'select $1::bytea as given', [Buffer.from([0, 255, 10, 92])]],
    ['a part of an array of bytes', 'select $1::bytea as given', [new Uint8Array([1, 2, 3]).subarray(1)]],
    ['lists', 'select $1::text[] as texts, $2::bytea[] as bytes', [['a,b', null, '"'], [Buffer.from('x')]]],
    ['JSON', 'select $1::jsonb as given', [{ a: [1, 'ä'] }]],
    ['no rows', 'select 1 where false', []],
    ['rows', 'select n, n % 2 = 0 as is_even from generate_series(1, 5000) n', []],
  ])('has the rows that pg has: %s', async (_, text, values) => {
    const pg = newClient(server.url('postgres'), undefined)
    await pg.connect()
    const { rows } = await pg.query(text, values as unknown[])
    await pg.end()
    expect(ask(executor, text, values)).toEqual({ rows })
  })

  test('takes and gives 20 MB', () => {
    const bytes = Buffer.alloc(20_000_000, 'substrat')
    const answer = ask(executor, 'select length($1::bytea) as length, $1::bytea as bytes', [bytes])
    const [row] = 'rows' in answer ? answer.rows : []
    expect(row?.length).toBe(bytes.length)
    expect(bytes.equals(row?.bytes as Buffer)).toBe(true)
  })

  test('goes on after an error of the server, on the same connection', () => {
    const pid = () => ask(executor, 'select pg_backend_pid() as pid')
    const before = pid()
    const failure = { code: '22012', message: 'division by zero', isUnknown: false }
    expect(ask(executor, 'select 1 / $1::int', [0])).toEqual({ failure })
    expect(ask(executor, 'select n / (n - 3) from generate_series(1, 9) n')).toEqual({ failure })
    expect(pid()).toEqual(before)
  })

  test('sends a statement again whose connection was ended, on a new one', () => {
    const first = ask(executor, 'select pg_backend_pid() as pid')
    const other = executorAt(target)
    const [row] = 'rows' in first ? first.rows : []
    ask(other, 'select pg_terminate_backend($1, 10000)', [row?.pid])
    const second = ask(executor, 'select pg_backend_pid() as pid')
    expect(second).toEqual({ rows: [{ pid: expect.any(Number) }] })
    expect(second).not.toEqual(first)
  })

  test('says what the server says about a database that is not there', () => {
    const none = executorAt(targetOf(server.url('none'), undefined).socket as SocketTarget)
    expect(ask(none, 'select 1')).toEqual({
      failure: { code: '3D000', message: 'database "none" does not exist', isUnknown: false },
    })
  })

  test('leaves a server that asks for a password to pg', async () => {
    await server.query('postgres', "create role guarded login password 'right'")
    const rules = path.join(server.directory, 'data/pg_hba.conf')
    writeFileSync(rules, `local all guarded scram-sha-256\n${readFileSync(rules, 'utf8')}`)
    await server.query('postgres', 'select pg_reload_conf()')
    for (const password of ['right', undefined]) {
      const guarded = targetOf(server.url('postgres', 'guarded'), password).socket as SocketTarget
      expect(() => ask(executorAt(guarded), 'select 1')).toThrow(PasswordWanted)
    }
  })
})

test('a directory without a server is named', () => {
  const directory = tempDirectory()
  const target = targetOf(`postgres:///home?host=${directory}`, undefined).socket as SocketTarget
  const message = `connect ENOENT ${directory}/.s.PGSQL.5432`
  expect(ask(executorAt(target), 'select 1')).toEqual({
    failure: { code: 'ENOENT', message, isUnknown: false },
  })
})

test('a socket without a server is named', () => {
  const directory = tempDirectory()
  writeFileSync(path.join(directory, '.s.PGSQL.5432'), '')
  const target = targetOf(`postgres:///home?host=${directory}`, undefined).socket as SocketTarget
  const message = `connect ECONNREFUSED ${directory}/.s.PGSQL.5432`
  expect(ask(executorAt(target), 'select 1')).toEqual({
    failure: { code: 'ECONNREFUSED', message, isUnknown: false },
  })
})

test.each([
  ['before the first statement is sent', true],
  ['before the server has accepted the client', false],
])('a connection that ends %s is made again', async (_, mayNeedPassword) => {
  const { directory, connections } = await fakeServer('ends the first connection')
  const target = targetOf(`postgres:///home?host=${directory}`, undefined).socket as SocketTarget
  expect(ask(executorAt({ ...target, mayNeedPassword }), 'select 1')).toEqual({ rows: [] })
  expect(connections()).toBe(2)
})

test('a server that ends each connection is asked twice', async () => {
  const { directory, connections } = await fakeServer('ends each connection')
  const target = targetOf(`postgres:///home?host=${directory}`, undefined).socket as SocketTarget
  const message = 'Connection terminated unexpectedly'
  expect(ask(executorAt(target), 'select 1')).toEqual({ failure: { code: '', message, isUnknown: false } })
  expect(connections()).toBe(2)
})

test('no answer is awaited after the end of the lease', async () => {
  const { directory } = await fakeServer('is silent')
  const target = targetOf(`postgres:///home?host=${directory}`, undefined).socket as SocketTarget
  let looks = 0
  const executor = executorAt(target, uptimeMs() + 300, () => {
    looks += 1
  })
  expect(ask(executor, 'select 1', [], { slot: 0 })).toEqual({
    failure: { code: '', message: 'no answer came before the lease was over', isUnknown: true },
  })
  expect(looks).toBeGreaterThan(1)
})

describe('a server that refuses a client and closes the connection', () => {
  const failure = { code: '3D000', message: 'no such database', isUnknown: false }

  test('is heard, also if the statement cannot be written any longer', async () => {
    const { directory, connections } = await fakeServer('refuses')
    const target = targetOf(`postgres:///home?host=${directory}`, undefined).socket as SocketTarget
    const connection = BlockingConnection.open(target.path, target.startup, () => undefined)
    // Two of three times, the second write finds the connection closed.
    const cell = new Int32Array(new SharedArrayBuffer(4))
    while (connections() === 0) Atomics.wait(cell, 0, 0, 1)
    Atomics.wait(cell, 0, 0, 20)
    const refused = () => {
      connection.send('select 1', [], () => undefined)
      connection.rows(() => undefined)
    }
    expect(refused).toThrow(failure.message)
    connection.close()
  })

  test('is heard after turns of the event loop, and no other file is read', async () => {
    const { directory, closed } = await fakeServer('refuses without reading')
    const executor = executorAt(
      targetOf(`postgres:///home?host=${directory}`, undefined).socket as SocketTarget,
    )
    executor.begin({ text: 'select 1', values: [], untilMs: uptimeMs() + PATIENCE_MS })
    closed()
    // Only now Node learns that the connection was made, and lost.
    for (const _ of ['this turn', 'the next']) await new Promise((resolve) => setImmediate(resolve))
    const other = openSync(path.join(directory, 'other'), 'w+')
    writeSync(other, 'not for this client')
    expect(executor.answer()).toEqual({ failure })
    closeSync(other)
  })
})

test('the late end of a failed statement is not taken for the answer of the next one', async () => {
  const { directory, connections } = await fakeServer('fails without an end')
  const target = targetOf(`postgres:///home?host=${directory}`, undefined).socket as SocketTarget
  const executor = executorAt(target, uptimeMs() + 300)
  const failure = { code: '22012', message: 'division by zero', isUnknown: false }
  expect(ask(executor, 'select 1 / 0', [], { slot: 0 })).toEqual({ failure })
  const before = connections()
  expect(ask(executor, 'select 1 / 0', [], { slot: 0 })).toEqual({ failure })
  expect(connections()).toBeGreaterThan(before)
})

test.each([
  ['postgres://user@host/home', false],
  ['postgres://user@127.0.0.1/home?sslmode=disable', false],
  ['postgres:///home?host=/run/postgresql', true],
  ['postgres://user@%2Frun%2Fpostgresql/home', true],
  ['postgres:///home?host=/run/postgresql&sslmode=require', false],
  ['postgres:///home?host=/run/postgresql&query_timeout=5', false],
])('%s is a socket for this thread: %s', (url, isSocket) => {
  expect(targetOf(url, undefined).socket !== undefined).toBe(isSocket)
})

test('the parameters of a URL reach the server', () => {
  vi.stubEnv('PGOPTIONS', undefined)
  const url = 'postgres://me@/home?host=/run/postgresql&port=5433&options=-c%20work_mem%3D8MB&lock_timeout=7s'
  expect(targetOf(url, 'secret').socket).toEqual({
    path: '/run/postgresql/.s.PGSQL.5433',
    startup: {
      user: 'me',
      database: 'home',
      application_name: 'substrat',
      options: '-c work_mem=8MB',
      lock_timeout: '7',
    },
    mayNeedPassword: true,
  })
})

type Behaviour =
  | 'is silent'
  | 'refuses'
  | 'refuses without reading'
  | 'fails without an end'
  | 'ends the first connection'
  | 'ends each connection'

/** In a thread, because the test blocks. */
const FAKE = `
  const net = require('node:net')
  const { parentPort, workerData: { path, behaviour, connections } } = require('node:worker_threads')
  const message = (type, body) => {
    const head = Buffer.alloc(5)
    head.write(type)
    head.writeInt32BE(body.length + 4, 1)
    return Buffer.concat([head, Buffer.from(body)])
  }
  const ready = [message('R', [0, 0, 0, 0]), message('Z', 'I')]
  const error = message('E', 'SERROR\\0C22012\\0Mdivision by zero\\0\\0')
  const empty = [message('1', ''), message('2', ''), message('n', ''), message('C', 'SELECT 0\\0'), message('Z', 'I')]
  const refusal = message('E', 'SFATAL\\0C3D000\\0Mno such database\\0\\0')
  const server = net.createServer((client) => {
    client.on('error', () => undefined)
    Atomics.add(connections, 0, 1)
    if (behaviour === 'refuses without reading') {
      client.pause()
      client.write(refusal, () => {
        // Until the client has sent what nobody reads.
        Atomics.wait(connections, 1, 0)
        client.destroy()
        client.once('close', () => {
          Atomics.store(connections, 2, 1)
          Atomics.notify(connections, 2)
        })
      })
      return
    }
    client.once('data', () => {
      if (behaviour === 'ends each connection') return client.destroy()
      if (behaviour === 'ends the first connection') {
        if (Atomics.load(connections, 0) === 1) return client.destroy()
        client.write(Buffer.concat(ready))
        client.once('data', () => client.write(Buffer.concat(empty)))
      }
      if (behaviour === 'refuses') client.write(refusal, () => client.destroy())
      if (behaviour === 'fails without an end') client.write(Buffer.concat([...ready, error]))
    })
  })
  server.listen(path, () => parentPort.postMessage('listens'))`

async function fakeServer(behaviour: Behaviour) {
  const directory = tempDirectory()
  const connections = new Int32Array(new SharedArrayBuffer(12))
  const workerData = { path: path.join(directory, '.s.PGSQL.5432'), behaviour, connections }
  const thread = new Worker(FAKE, { eval: true, workerData })
  await new Promise((resolve) => thread.once('message', resolve))
  onTestFinished(async () => {
    await thread.terminate()
  })
  const closed = () => {
    Atomics.store(connections, 1, 1)
    Atomics.notify(connections, 1)
    Atomics.wait(connections, 2, 0)
  }
  return { directory, closed, connections: () => Atomics.load(connections, 0) }
}
