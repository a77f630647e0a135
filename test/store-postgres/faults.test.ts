/** The table of faults in docs/postgres.md: each row has a test, here or in the file that is named. */
import { execFileSync, spawn, spawnSync } from 'node:child_process'
import { chownSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import os from 'node:os'
import path from 'node:path'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { Postgres, RUN, whyNoPostgres } from '../support/postgres.js'
import { PostgresProxy } from '../support/postgres-proxy.js'

/** Each row, and the beginning of the title of its test. */
const ROWS: Record<string, [file: string, title: string]> = {
  'no connection at the start': ['commands', 'a database without a home, and a server that is gone'],
  'wrong password or role, missing schema': ['faults', 'a wrong password and an unknown role'],
  'connection lost and back before the lease ends': ['promises', 'continues a turn beside which the server'],
  'unknown whether a change was committed, or no answer by the end of the lease': [
    'faults',
    'a change whose answer is lost with the server',
  ],
  'the lease was lost': ['hosts', 'a holder that was stopped past its lease writes nothing more'],
  'the agent is held elsewhere': ['commands', 'a killed holder under this kernel is replaced at once'],
  'another transaction keeps a lock for longer than `--timeout`': ['crowded', 'is waited for no longer'],
  'no free connection, or the server starts': ['crowded', 'commands that begin at once all get a turn'],
  'a host dies or is cut off during a tool or a program': ['takeover', 'continues there by itself'],
  'a command dies between two calls': ['hosts', 'a holder that dies on another host is replaced'],
  'disk full, read-only server': ['faults', 'a full disk'],
  'a failover lost commits': ['standby', 'the next append of a turn exits 10'],
  'the server was promoted or restored': ['standby', 'no agent is taken for one lease'],
  'newer schema': ['commands', 'a newer schema is refused'],
  'older schema, as after an upgrade of the plugin': [
    'set-up',
    'says that a home with an older schema is refused',
  ],
}
const LONG = 'long '.repeat(100_000)

test('each row of the table of faults has a test', () => {
  const page = readFileSync(path.join(import.meta.dirname, '../../docs/postgres.md'), 'utf8')
  const table = page.slice(page.indexOf('| fault |'), page.indexOf('\n\nA lost lease'))
  const rows = table.split('\n').slice(2)
  expect(rows.map((row) => row.split(' | ')[0]?.slice(2))).toEqual(Object.keys(ROWS))
  for (const [file, title] of Object.values(ROWS)) {
    const text = readFileSync(path.join(import.meta.dirname, `${file}.test.ts`), 'utf8')
    expect(text, title).toMatch(new RegExp(`^\\s*(test\\()?'${title}`, 'm'))
  }
})

describe.skipIf(whyNoPostgres() !== undefined)('on a home in PostgreSQL', () => {
  let server: Postgres
  beforeAll(() => {
    server = new Postgres()
  })
  afterAll(() => server?.remove())

  const run = (home: string, args: string[], env: Record<string, string> = {}, input = '') => {
    const { status, stdout, stderr } = spawnSync(process.execPath, [RUN, ...args], {
      env: { ...server.environment(home), ...env },
      encoding: 'utf8',
      input,
    })
    return { exit: status, stdout, stderr }
  }
  const filled = async (): Promise<string> => {
    const home = await server.newHome()
    expect(run(home, ['spawn', '--name', 'notes', '--provider', 'scripted']).exit).toBe(0)
    return home
  }

  /** A role with the rights of the page. */
  async function requirePassword(home: string, role: string): Promise<void> {
    await server.query(home, `create role ${role} login password 'right'`)
    await server.query(home, `grant usage on schema substrat to ${role}`)
    await server.query(home, `grant execute on all functions in schema substrat to ${role}`)
    const rules = path.join(server.directory, 'data/pg_hba.conf')
    writeFileSync(rules, `local all ${role} scram-sha-256\n${readFileSync(rules, 'utf8')}`)
    await server.query(home, 'select pg_reload_conf()')
  }

  test('a wrong password and an unknown role exit 11 with the reason and the next command', async () => {
    const home = await filled()
    await requirePassword(home, 'guarded')
    const SUBSTRAT_HOME = server.url(home, 'guarded')
    const wrong = run(home, ['list'], { SUBSTRAT_HOME, PGPASSWORD: 'wrong' })
    expect([wrong.exit, wrong.stderr]).toEqual([11, expect.stringMatching(/password.*\n?.*~\/\.pgpass/)])
    expect(run(home, ['list'], { SUBSTRAT_HOME, PGPASSWORD: 'right' }).stdout).toContain('notes')
    const unknown = run(home, ['list'], { SUBSTRAT_HOME: server.url(home, 'nobody_here') })
    expect([unknown.exit, unknown.stderr]).toEqual([
      11,
      expect.stringMatching(/nobody_here.*\n?.*pg_hba\.conf/),
    ])
  })

  test('a password in ~/.pgpass is used, also by a command that a tool starts', async () => {
    const home = await server.newHome()
    await requirePassword(home, 'passed')
    const env = { SUBSTRAT_HOME: server.url(home, 'passed') }
    const file = path.join(server.environment(home).HOME as string, '.pgpass')
    writeFileSync(file, '*:*:*:passed:right\n', { mode: 0o600 })
    const command = `command=${process.execPath} ${RUN} list --all`
    expect(run(home, ['spawn', '--name', 'inner', '--provider', 'exec', '--option', command], env).exit).toBe(
      0,
    )
    expect(run(home, ['send', 'inner', 'go'], env)).toMatchObject({
      exit: 0,
      stdout: expect.stringContaining('inner'),
    })
    rmSync(file)
    expect(run(home, ['list'], env).exit).toBe(11)
  })

  test('a read-only server exits 11 with its reason, and changes nothing', async () => {
    const home = await filled()
    await server.query(home, `alter database ${home} set default_transaction_read_only = on`)
    const sent = run(home, ['send', 'notes', 'hello'])
    expect([sent.exit, sent.stderr]).toEqual([11, expect.stringContaining('read-only transaction')])
    expect(run(home, ['log', 'notes', '--all']).stdout).not.toContain('hello')
    await server.query('postgres', `alter database ${home} set default_transaction_read_only = off`)
    expect(run(home, ['send', 'notes', 'hello']).stdout).toBe('echo: hello\n')
  })

  test.skipIf(process.geteuid?.() !== 0)(
    'a full disk exits 11 with its reason, and the agent continues when there is space',
    async () => {
      const home = await filled()
      const small = mkdtempSync(path.join(os.tmpdir(), 'pg-small-'))
      execFileSync('mount', ['-t', 'tmpfs', '-o', 'size=2m', 'tmpfs', small])
      try {
        const { uid, gid } = server.owner as { uid: number; gid: number }
        chownSync(small, uid, gid)
        await server.query(home, `create tablespace small location '${small}'`)
        await server.query(home, 'alter table substrat.batch set tablespace small')
        await server.query(home, 'create table filler (bytes bytea) tablespace small')
        const fill =
          "insert into filler select decode(repeat(md5(n::text), 200), 'hex') from generate_series(1, 100) n"
        for (let isFull = false; !isFull; )
          isFull = await server.query(home, fill).then(
            () => false,
            () => true,
          )
        // It asks again until the end of the lease.
        const send = () => run(home, ['send', 'notes', '-'], { SUBSTRAT_LEASE_MS: '12000' }, LONG)
        let full = send()
        for (let more = 0; full.exit === 0 && more < 20; more++) full = send()
        expect([full.exit, full.stderr]).toEqual([11, expect.stringContaining('No space left on device')])
        await server.query(home, 'drop table filler')
        await server.query(home, 'checkpoint')
        expect(run(home, ['recover', '--all']).exit).toBe(0)
        expect(run(home, ['send', 'notes', 'again']).stdout).toBe('echo: again\n')
        expect(run(home, ['doctor', '--all']).exit).toBe(0)
        await server.query(home, 'alter table substrat.batch set tablespace pg_default')
        await server.query(home, 'drop tablespace small')
      } finally {
        execFileSync('umount', ['-l', small])
        rmSync(small, { recursive: true, force: true })
      }
    },
  )

  test('a change that the network swallows exits 15 when its lease is over', async () => {
    const home = await filled()
    const fault = { at: 3, loss: 'silent' as const }
    const proxy = await PostgresProxy.before(server.directory, fault)
    const env = { SUBSTRAT_HOME: server.url(home, 'postgres', proxy.directory), SUBSTRAT_LEASE_MS: '2000' }
    const child = spawn(process.execPath, [RUN, 'send', 'notes', 'hello'], {
      env: { ...server.environment(home), ...env },
      stdio: 'ignore',
    })
    const exit = await new Promise((resolve) => child.once('close', resolve))
    expect([proxy.calls.at(2), exit]).toEqual(['append', 15])
    await proxy.close()
  })

  test('a role whose transactions are not read committed is refused', async () => {
    const home = await filled()
    const options = encodeURIComponent('-c default_transaction_isolation=serializable')
    const { exit, stderr } = run(home, ['send', 'notes', 'hello'], {
      SUBSTRAT_HOME: `${server.url(home)}&options=${options}`,
    })
    expect([exit, stderr]).toEqual([11, expect.stringContaining('must be read committed')])
  })

  test('a change whose answer is lost with the server exits 15, and its key is safe', async () => {
    const home = await filled()
    const argv = ['send', 'notes', 'hello', '--key', 'k1']
    const counting = await PostgresProxy.before(server.directory)
    const env = (directory: string) => ({
      ...server.environment(home),
      SUBSTRAT_HOME: server.url(home, 'postgres', directory),
      SUBSTRAT_LEASE_MS: '3000',
    })
    const ended = (directory: string, args: string[]) =>
      new Promise<[number | null, string]>((resolve) => {
        const child = spawn(process.execPath, [RUN, ...args], {
          env: env(directory),
          stdio: ['ignore', 'ignore', 'pipe'],
        })
        let stderr = ''
        child.stderr.on('data', (bytes) => {
          stderr += bytes
        })
        child.once('close', (exit) => resolve([exit, stderr]))
      })
    expect((await ended(counting.directory, ['send', 'notes', 'first']))[0]).toBe(0)
    await counting.close()
    const [append] = counting.calls.flatMap((name, index) => (name === 'append' ? [index + 1] : []))
    const onLoss = (): void => server.stop()
    const proxy = await PostgresProxy.before(server.directory, {
      at: append as number,
      loss: 'unanswered',
      onLoss,
    })
    const [exit, stderr] = await ended(proxy.directory, argv)
    await proxy.close()
    server.start()
    expect([proxy.calls.at(-1), exit, stderr]).toEqual([
      'append',
      15,
      expect.stringContaining('it is unknown whether'),
    ])
    expect(stderr).toContain('a repeated --key delivers at most once')
    for (const _ of [1, 2]) expect(run(home, argv).stdout).toBe('echo: hello\n')
    expect(run(home, ['log', 'notes', '--all']).stdout.match(/echo: hello/g)).toHaveLength(1)
    expect(run(home, ['doctor', '--all']).exit).toBe(0)
  })
})
