/** Commands on a home in PostgreSQL, as processes. */
import { type ChildProcess, execFile, spawn, spawnSync } from 'node:child_process'
import { promisify } from 'node:util'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { Postgres, RUN, whyNoPostgres } from '../support/postgres.js'
import { PostgresProxy } from '../support/postgres-proxy.js'
import { waitFor } from '../support/wait.js'

const why = whyNoPostgres()
if (why !== undefined) console.warn(`the tests of a home in PostgreSQL are skipped: ${why}`)

const OF_A_TURN = ['take', 'append', 'end_turn']
const SECRET = 'hunter2-never-shown'

describe.skipIf(why !== undefined)('on a home in PostgreSQL', () => {
  let server: Postgres
  beforeAll(() => {
    server = new Postgres()
  })
  afterAll(() => server?.remove())

  const run = (home: string, args: string[], env: Record<string, string> = {}) => {
    const { status, stdout, stderr } = spawnSync(process.execPath, [RUN, ...args], {
      env: { ...server.environment(home), ...env },
      encoding: 'utf8',
    })
    return { exit: status, stdout, stderr }
  }
  const ok = (home: string, ...args: string[]): string => {
    const { exit, stdout, stderr } = run(home, args)
    expect(exit, `${args.join(' ')}: ${stderr}`).toBe(0)
    return stdout
  }

  test('agents are created, asked, shown, listed, searched, recovered and removed', async () => {
    const home = await server.newHome()
    ok(home, 'spawn', '--name', 'notes', '--provider', 'scripted')
    expect(ok(home, 'send', 'notes', 'hello')).toContain('hello')
    expect(ok(home, 'send', 'notes', 'once', '--key', 'k1')).toBe(
      ok(home, 'send', 'notes', 'once', '--key', 'k1'),
    )
    expect(ok(home, 'list')).toContain('notes')
    expect(ok(home, 'show', 'notes')).toContain('notes')
    expect(ok(home, 'log', 'notes').match(/once/g)?.length).toBeGreaterThan(0)
    expect(ok(home, 'search', 'hello')).toContain('notes')
    ok(home, 'send', 'notes', 'later', '--queue')
    ok(home, 'deliver', '--all')
    ok(home, 'recover', '--all')
    ok(home, 'config', 'set', 'provider', 'scripted')
    expect(run(home, ['doctor', '--all']).exit).toBe(0)
    ok(home, 'terminate', 'notes')
    ok(home, 'remove', 'notes')
    expect(ok(home, 'list', '--all')).not.toContain('notes')
  })

  test('a send to a model takes 4 calls of the database, a show, a list and a tree 1', async () => {
    const home = await server.newHome()
    ok(home, 'spawn', '--name', 'notes', '--provider', 'scripted')
    ok(home, 'send', 'notes', 'hello')
    const callsOf = async (...args: string[]): Promise<string[]> => {
      const proxy = await PostgresProxy.before(server.directory)
      const env = {
        ...server.environment(home),
        SUBSTRAT_HOME: server.url(home, 'postgres', proxy.directory),
      }
      await promisify(execFile)(process.execPath, [RUN, ...args], { env })
      await proxy.close()
      return proxy.calls
    }
    expect(await callsOf('send', 'notes', 'hello')).toEqual(['begin_with_name', ...OF_A_TURN])
    expect(await callsOf('send', 'notes', 'hello', '--key', 'k1')).toEqual(['begin_command', ...OF_A_TURN])
    ok(home, 'deliver', '--all')
    for (const args of [['show', 'notes'], ['list'], ['list', '--json'], ['tree']])
      expect(await callsOf(...args), args.join(' ')).toEqual(['begin_command'])
  })

  test('a killed holder under this kernel is replaced at once', async () => {
    const home = await server.newHome()
    ok(home, 'spawn', '--name', 'worker', '--provider', 'exec', '--option', 'command=sleep 600')
    const child = spawn(process.execPath, [RUN, 'send', 'worker', 'go'], { env: server.environment(home) })
    await waitFor(
      async () => JSON.parse(ok(home, 'show', 'worker', '--json')).agent?.status === 'running',
      'a running turn',
    )
    const busy = run(home, ['send', 'worker', 'again', '--if-busy', 'fail'])
    expect([busy.exit, busy.stderr]).toEqual([4, expect.stringContaining(`pid ${child.pid}`)])
    await killed(child)
    expect(run(home, ['recover', '--all', '--continue', 'none']).stderr).not.toContain('busy')
    expect(JSON.parse(ok(home, 'show', 'worker', '--json')).agent.status).not.toBe('running')
  })

  test('a database without a home, and a server that is gone, exit 11 with the next command', async () => {
    const empty = await server.newDatabase()
    const none = run(empty, ['list'])
    expect([none.exit, none.stderr]).toEqual([11, expect.stringContaining('substrat store init')])
    const gone = run(empty, ['list'], { SUBSTRAT_HOME: 'postgres://postgres@/x?host=/nonexistent' })
    expect([gone.exit, gone.stderr]).toEqual([11, expect.stringContaining('/nonexistent')])
  })

  test('a newer schema is refused, and store init changes nothing in it', async () => {
    const home = await server.newHome()
    await server.query(home, 'update substrat.home set schema_version = 99')
    expect(run(home, ['list']).exit).toBe(10)
    expect(run(home, ['store', 'init']).exit).toBe(10)
    expect(await server.query(home, 'select schema_version from substrat.home')).toEqual([
      { schema_version: 99 },
    ])
  })

  test('store init can be repeated, and keeps the home', async () => {
    const home = await server.newHome()
    ok(home, 'spawn', '--name', 'notes', '--provider', 'scripted')
    expect(ok(home, 'store', 'init')).toContain('already has schema version')
    expect(ok(home, 'list')).toContain('notes')
  })

  test('no function is compiled by the JIT of the server, which takes half a second', async () => {
    const home = await server.newHome()
    const functions = `select count(*) filter (where p.proconfig @> '{jit=off}') > 30 as are_there,
        count(*) filter (where not p.proconfig @> '{jit=off}') as compiled
      from pg_proc p where p.pronamespace = 'substrat'::regnamespace and p.prosecdef`
    expect(await server.query(home, functions)).toEqual([{ are_there: true, compiled: '0' }])
  })

  test('a password in the URL or in PGPASSWORD reaches no program and no message', async () => {
    const home = await server.newHome()
    const [own] = [server.url(home)]
    const secret = own.replace('postgres@', `postgres:${SECRET}@`)
    const environments: Record<string, string>[] = [{ SUBSTRAT_HOME: secret }, { PGPASSWORD: SECRET }]
    for (const [index, env] of environments.entries()) {
      const name = `env${index}`
      const spawned = run(
        home,
        ['spawn', '--name', name, '--provider', 'exec', '--option', 'command=env'],
        env,
      )
      const sent = run(home, ['send', name, 'go'], env)
      const doctor = run(home, ['doctor', '--json'], env)
      expect(sent.stdout).toContain('SUBSTRAT_HOME=postgres://postgres@/')
      for (const each of [spawned, sent, doctor, run(home, ['log', name, '--json'], env)]) {
        expect(each.stderr).not.toContain(SECRET)
        expect(each.stdout).not.toContain(SECRET)
      }
    }
  })

  test('a connection to another machine needs a verified certificate', async () => {
    const home = await server.newHome()
    const url = 'postgres://user@db.example.com/x?sslmode=require'
    const refused = run(home, ['list'], { SUBSTRAT_HOME: url })
    expect([refused.exit, refused.stderr]).toEqual([11, expect.stringContaining('verify-full')])
  })

  test.each([
    ['names a missing file', 'sslmode=verify-full&sslrootcert=/missing/ca.crt', '/missing/ca.crt'],
    ['has an unknown value', 'sslnegotiation=never', 'sslnegotiation'],
  ])('a URL that %s is refused', async (_, parameters, part) => {
    const home = await server.newHome()
    const url = `postgres://user@localhost/x?${parameters}`
    const refused = run(home, ['list'], { SUBSTRAT_HOME: url })
    const why = expect.stringMatching(new RegExp(`^substrat: cannot open .*: .*${part}.*correct the URL`))
    expect([refused.exit, refused.stderr]).toEqual([11, why])
  })
})

function killed(child: ChildProcess): Promise<void> {
  return new Promise((resolve) => {
    child.once('exit', () => resolve())
    child.kill('SIGKILL')
  })
}
