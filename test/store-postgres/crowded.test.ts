/** A server without room for another connection, and locks that other transactions keep. */
import { spawn, spawnSync } from 'node:child_process'
import { readFileSync, writeFileSync } from 'node:fs'
import path from 'node:path'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { Attempts } from '../../plugins/store-postgres/src/retry.js'
import { uptimeMs } from '../../plugins/store-postgres/src/uptime.js'
import { Postgres, RUN, whyNoPostgres } from '../support/postgres.js'
import { tempDirectory } from '../support/temp.js'
import { waitFor } from '../support/wait.js'

const COMMANDS = 12
/** Three of them are for superusers. */
const CONNECTIONS = 8

describe('a statement that the server refused', () => {
  const refusal = (code: string, message = 'refused') =>
    Object.assign(new Error(message), { code, severity: 'FATAL' })
  const later = () => uptimeMs() + 60_000
  const first = { wasSent: true, hasConnected: false }

  test.each(['53000', '53100', '53200', '53300', '53400', '57P03', '55P03'])(
    'is sent again after %s, also at the start, and was certainly not executed',
    (code) => {
      const attempts = new Attempts({ untilMs: later() })
      expect(attempts.after(refusal(code), first).failure).toBeUndefined()
      const over = new Attempts({ untilMs: later(), fullUntilMs: 0, lockUntilMs: 0 })
      expect(over.after(refusal(code), first).failure).toEqual({ code, message: 'refused', isUnknown: false })
    },
  )

  test('is sent again after the words of pgbouncer for a full pool, and not after its others', () => {
    const judge = (message: string) =>
      new Attempts({ untilMs: later() }).after(refusal('08P01', message), first)
    expect(judge('no more connections allowed (max_client_conn)').failure).toBeUndefined()
    expect(judge('no such user').failure).toMatchObject({ message: 'no such user' })
  })

  test('is sent again after pauses of different lengths', () => {
    const pauses = Array.from({ length: 20 }, () => {
      const attempts = new Attempts({ untilMs: later() })
      return attempts.after(refusal('53300'), first).pauseMs
    })
    expect(new Set(pauses).size).toBeGreaterThan(10)
  })
})

describe.skipIf(whyNoPostgres() !== undefined)('a server with few connections', () => {
  let server: Postgres
  let home: string
  beforeAll(async () => {
    server = new Postgres({ hasTls: true, settings: [`max_connections=${CONNECTIONS}`] })
    home = await server.newHome()
    // PostgreSQL reserves some connections for a superuser.
    await server.query(home, 'create role agents login')
    await server.query(home, 'grant usage on schema substrat to agents')
    await server.query(home, 'grant execute on all functions in schema substrat to agents')
  })
  afterAll(() => server?.remove())

  const environment = (env: Record<string, string> = {}) => ({
    ...server.environment(home),
    SUBSTRAT_HOME: server.url(home, 'agents'),
    ...env,
  })
  const start = (argv: string[], env: Record<string, string> = {}) => {
    const child = spawn(process.execPath, [RUN, ...argv], { env: environment(env) })
    const said = { out: '', err: '' }
    child.stdout.on('data', (bytes) => {
      said.out += bytes
    })
    child.stderr.on('data', (bytes) => {
      said.err += bytes
    })
    const ended = new Promise<number | null>((resolve) => child.once('close', resolve))
    return { said, ended }
  }
  const run = (argv: string[], env: Record<string, string> = {}) =>
    spawnSync(process.execPath, [RUN, ...argv], { env: environment(env), encoding: 'utf8' })
  /** The connections of commands. */
  const connections = async () =>
    server.query(home, "select pid from pg_stat_activity where usename = 'agents'")

  /** An agent whose turn ends once a file is there. */
  const spawnGated = (name: string): (() => void) => {
    const gate = path.join(tempDirectory(), 'gate')
    const command = `command=until [ -e ${gate} ]; do sleep 0.05; done; echo done`
    expect(run(['spawn', '--name', name, '--provider', 'exec', '--option', command]).status).toBe(0)
    return () => writeFileSync(gate, '')
  }
  const isRunning = (name: string) =>
    waitFor(
      () => JSON.parse(run(['show', name, '--json']).stdout).agent?.status === 'running',
      `the turn of ${name}`,
    )

  test('commands that begin at once all get a turn', async () => {
    expect(run(['spawn', '--name', 'notes', '--provider', 'scripted']).status).toBe(0)
    const all = Array.from({ length: COMMANDS }, (_, n) =>
      start(['send', 'notes', `hello ${n}`, '--queue', '--no-drain', '--timeout', '10m']),
    )
    const exits = await Promise.all(all.map(({ ended }) => ended))
    expect(exits, all.map(({ said }) => said.err).join('')).toEqual(Array(COMMANDS).fill(0))
    expect(JSON.parse(run(['show', 'notes', '--json']).stdout).agent.inbox).toBe(COMMANDS)
  })

  test('a command waits for a connection no longer than its --timeout', async () => {
    await server.query('postgres', 'alter role agents connection limit 0')
    const { status, stderr } = run(['list', '--json'], { SUBSTRAT_TIMEOUT: '100ms' })
    await server.query('postgres', 'alter role agents connection limit -1')
    expect([status, stderr]).toEqual([11, expect.stringContaining('too many connections for role')])
  })

  test.each(['a socket', 'TCP'])('a command that waits for a connection by %s says so', async (way) => {
    const url = way === 'TCP' ? server.tlsUrl(home, { role: 'agents' }) : server.url(home, 'agents')
    await server.query('postgres', 'alter role agents connection limit 0')
    const waiting = start(['list', '--json'], { SUBSTRAT_HOME: url })
    const says =
      /^substrat: waiting up to \d+ s for the database at postgres:.*: too many connections for role/m
    await waitFor(() => says.test(waiting.said.err), 'the note')
    await server.query('postgres', 'alter role agents connection limit -1')
    expect(await waiting.ended, waiting.said.err).toBe(0)
    expect(waiting.said.err.match(/waiting up to/g)).toHaveLength(1)
  })

  test('a turn whose connection was lost continues once the server has room again', async () => {
    const open = spawnGated('gated')
    const turn = start(['send', 'gated', 'go'])
    await isRunning('gated')
    await server.query('postgres', 'alter role agents connection limit 0')
    await server.query(
      home,
      "select pg_terminate_backend(pid) from pg_stat_activity where usename = 'agents'",
    )
    open()
    // Both its renewals and its next append are refused meanwhile.
    const log = path.join(server.directory, 'log')
    await waitFor(
      () => readFileSync(log, 'utf8').split('too many connections for role').length > 4,
      'refusals',
    )
    await server.query('postgres', 'alter role agents connection limit -1')
    expect([await turn.ended, turn.said.out], turn.said.err).toEqual([0, 'done\n'])
  })

  test.each(['a socket', 'TCP'])('a long turn keeps one connection by %s', async (way) => {
    const name = way === 'TCP' ? 'tcp' : 'socket'
    const open = spawnGated(name)
    const url = way === 'TCP' ? server.tlsUrl(home, { role: 'agents' }) : server.url(home, 'agents')
    const turn = start(['send', name, 'go'], { SUBSTRAT_LEASE_MS: '20000', SUBSTRAT_HOME: url })
    await isRunning(name)
    const leaseEnd = async () => {
      const [row] = await server.query(
        home,
        'select max(extract(epoch from expires_at)) as at from substrat.agent',
      )
      return Number(row?.at)
    }
    const firstEnd = await leaseEnd()
    await waitFor(
      async () => (await leaseEnd()) > firstEnd && (await connections()).length === 1,
      'one connection, by which the lease was renewed',
    )
    open()
    expect([await turn.ended, turn.said.out], turn.said.err).toEqual([0, 'done\n'])
  })
})

describe.skipIf(whyNoPostgres() !== undefined)('a lock of another transaction', () => {
  let server: Postgres
  beforeAll(() => {
    server = new Postgres()
  })
  afterAll(() => server?.remove())

  test('is waited for no longer than --timeout, and a command without a lease does not say that it lost one', async () => {
    const home = await server.newHome()
    const run = (argv: string[], env: Record<string, string> = {}) =>
      spawnSync(process.execPath, [RUN, ...argv], {
        env: { ...server.environment(home), ...env },
        encoding: 'utf8',
      })
    expect(run(['spawn', '--name', 'notes', '--provider', 'scripted']).status).toBe(0)
    const other = await server.connect(home)
    await other.query('begin')
    await other.query('select from substrat.agent for update')
    const waiting = async () =>
      (await server.query(home, "select from pg_stat_activity where wait_event_type = 'Lock'")).length
    for (const argv of [
      ['send', 'notes', 'hello', '--timeout', '3s'],
      ['send', 'notes', 'hello', '--queue', '--timeout', '3s'],
      ['set', 'notes', '--title', 'x', '--timeout', '3s'],
    ]) {
      const { status, stderr } = run(argv, { SUBSTRAT_LEASE_MS: '1000' })
      expect([status, stderr]).toEqual([4, expect.stringContaining('another transaction has a lock')])
      expect(stderr).not.toContain('lease')
      // No backend of a command that has ended takes the agent later.
      expect(await waiting()).toBe(0)
    }
    await other.query('rollback')
    await other.end()
    expect(run(['send', 'notes', 'hello']).stdout).toBe('echo: hello\n')
  })
})
