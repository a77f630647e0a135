/** A home in PostgreSQL as a user meets it on the first day: URLs, passwords, roles, encodings. */
import { execFile, spawn, spawnSync } from 'node:child_process'
import { chmodSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import path from 'node:path'
import { afterAll, beforeAll, beforeEach, describe, expect, onTestFinished, test } from 'vitest'
import { applicationName } from '../../plugins/store-postgres/src/application-name.js'
import { NoPassword, passwordFor } from '../../plugins/store-postgres/src/password-file.js'
import { configOf, needsPrimary, serversOf } from '../../plugins/store-postgres/src/servers.js'
import { freePort } from '../support/ports.js'
import { Postgres, RUN, whyNoPostgres } from '../support/postgres.js'
import { PostgresProxy } from '../support/postgres-proxy.js'
import { tempDirectory } from '../support/temp.js'
import { waitFor } from '../support/wait.js'

describe('a URL', () => {
  test('names one server or several, each with its own port or the common one', () => {
    expect(serversOf('postgres://me@db/home')).toEqual(['postgres://me@db/home'])
    expect(serversOf('postgresql://me@one,two:5433/home?sslmode=verify-full')).toEqual([
      'postgresql://me@one/home?sslmode=verify-full',
      'postgresql://me@two:5433/home?sslmode=verify-full',
    ])
    expect(serversOf('postgres:///home?host=one,two&port=1,2').map(configOf)).toMatchObject([
      { host: 'one', port: 1, database: 'home' },
      { host: 'two', port: 2, database: 'home' },
    ])
  })

  test('asks for a server that accepts changes, and cannot ask for a standby', () => {
    const asking = (wanted: string) => () =>
      needsPrimary(`postgres://one,two/home?target_session_attrs=${wanted}`)
    expect([asking('read-write')(), asking('primary')(), asking('any')()]).toEqual([true, true, false])
    expect(needsPrimary('postgres://one/home')).toBe(false)
    expect(asking('standby')).toThrow('target_session_attrs=standby is not supported')
  })
})

test('a process names its command and its agent, and no prompt', () => {
  expect(applicationName(['send', 'notes', 'my secret'])).toBe('substrat send notes')
  expect(applicationName(['spawn', 'my'])).toBe('substrat spawn')
  expect(applicationName(['send', '--key', 'k', 'notes'])).toBe('substrat send')
  expect(applicationName(['log', `team/${'x'.repeat(100)}`])).toHaveLength(63)
  expect(applicationName([])).toBe('substrat')
})

describe('a password file', () => {
  const login = { host: 'db', port: 5432, database: 'home', user: 'me' }
  let file: string
  beforeEach(() => {
    file = path.join(tempDirectory(), '.pgpass')
  })
  const given = (text: string, mode = 0o600): string => {
    writeFileSync(file, text)
    chmodSync(file, mode)
    return file
  }

  test('has the password of the first line that matches', () => {
    const lines = '# db:*:*:*:no\ndb:5433:*:*:no\n*:*:home:me:a\\:b\\\\c:d\n*:*:*:*:last\n'
    expect(passwordFor(login, given(lines))).toBe('a:b\\c:d')
    expect(passwordFor({ ...login, user: 'you' }, file)).toBe('last')
    expect(passwordFor({ ...login, host: '/run/postgresql' }, given('localhost:*:*:*:socket'))).toBe('socket')
  })

  test('is named if it cannot be used, with the reason', () => {
    const why = (act: () => unknown): unknown => {
      try {
        return act()
      } catch (error) {
        return [error instanceof NoPassword, (error as Error).message]
      }
    }
    expect(why(() => passwordFor(login, given('*:*:*:*:x', 0o644)))).toEqual([
      true,
      expect.stringContaining(`its mode is 0644: chmod 600 ${file}`),
    ])
    expect(why(() => passwordFor(login, given('other:*:*:*:x')))).toEqual([
      true,
      expect.stringContaining('add this one: db:5432:home:me:PASSWORD'),
    ])
    expect(why(() => passwordFor(login, '/nowhere/.pgpass'))).toEqual([
      true,
      expect.stringContaining('/nowhere/.pgpass does not exist'),
    ])
  })
})

describe.skipIf(whyNoPostgres() !== undefined)('on the first day with PostgreSQL', () => {
  let server: Postgres
  let home: string
  beforeAll(async () => {
    server = new Postgres()
    home = await server.newHome()
  })
  afterAll(() => server?.remove())

  const run = (argv: string[], env: Record<string, string | undefined> = {}) => {
    const { status, stdout, stderr } = spawnSync(process.execPath, [RUN, ...argv], {
      env: { ...server.environment(home), ...env },
      encoding: 'utf8',
    })
    return { exit: status, stdout, stderr }
  }
  /** Lets a proxy in this process pass the calls meanwhile. */
  const runBeside = async (argv: string[], env: Record<string, string>) => {
    const options = { env: { ...server.environment(home), ...env } }
    return new Promise<ReturnType<typeof run>>((resolve) =>
      execFile(process.execPath, [RUN, ...argv], options, (error, stdout, stderr) =>
        resolve({ exit: error === null ? 0 : Number(error.code), stdout, stderr }),
      ),
    )
  }

  test('postgresql:// is the same scheme, and the user is that of the process if none is named', async () => {
    const url = server.url(home).replace('postgres://', 'postgresql://')
    expect(run(['spawn', '--name', 'notes', '--provider', 'scripted'], { SUBSTRAT_HOME: url }).exit).toBe(0)
    const own = url.replace('postgres@', '')
    const listed = run(['list'], { SUBSTRAT_HOME: own, USER: undefined, PGUSER: undefined })
    const name = spawnSync('id', ['-un'], { encoding: 'utf8' }).stdout.trim()
    expect([listed.exit, listed.stderr]).toEqual([
      11,
      expect.stringContaining(`role "${name}" does not exist`),
    ])
    expect(run(['list'], { SUBSTRAT_HOME: own, USER: undefined, PGUSER: 'postgres' }).exit).toBe(0)
  })

  test('of several servers, the first that accepts changes is used', async () => {
    const proxy = await PostgresProxy.before(server.directory)
    const { port } = new URL(proxy.url(home))
    const of = (...ports: (number | string)[]): string =>
      `postgres://postgres@${ports.map((each) => `127.0.0.1:${each}`).join(',')}/${home}?sslmode=disable`
    expect((await runBeside(['list'], { SUBSTRAT_HOME: of(freePort(), port) })).exit).toBe(0)
    const primary = `${of(freePort(), port)}&target_session_attrs=read-write`
    expect((await runBeside(['send', 'notes', 'hello'], { SUBSTRAT_HOME: primary })).stdout).toBe(
      'echo: hello\n',
    )
    await server.query('postgres', `alter database ${home} set default_transaction_read_only = on`)
    const refused = await runBeside(['list', '--json'], { SUBSTRAT_HOME: primary, SUBSTRAT_TIMEOUT: '100ms' })
    await server.query('postgres', `alter database ${home} reset default_transaction_read_only`)
    expect([refused.exit, refused.stderr + refused.stdout]).toEqual([
      11,
      expect.stringContaining('none of the servers in the URL accepts changes'),
    ])
    await proxy.close()
  })

  test('a password file with a wrong mode or without a line is named, and a good one is used without a warning', async () => {
    await server.query(home, "create role guarded login password 'right'")
    for (const what of ['usage on schema', 'execute on all functions in schema'])
      await server.query(home, `grant ${what} substrat to guarded`)
    const rules = path.join(server.directory, 'data/pg_hba.conf')
    writeFileSync(rules, `local all guarded scram-sha-256\n${readFileSync(rules, 'utf8')}`)
    await server.query(home, 'select pg_reload_conf()')
    const file = path.join(server.environment(home).HOME as string, '.pgpass')
    const env = { SUBSTRAT_HOME: server.url(home, 'guarded') }
    expect(run(['list'], env)).toMatchObject({
      exit: 11,
      stderr: expect.stringContaining(`${file} does not exist`),
    })
    writeFileSync(file, '*:*:*:guarded:right\n', { mode: 0o644 })
    expect(run(['list'], env)).toMatchObject({
      exit: 11,
      stderr: expect.stringContaining(`chmod 600 ${file}`),
    })
    chmodSync(file, 0o600)
    expect(run(['list'], env)).toMatchObject({ exit: 0, stderr: '' })
    rmSync(file)
  })

  test('store init and serve take the password of a server on another machine from PGPASSWORD and the URL', async () => {
    const remote = new Postgres({ hasTls: true })
    onTestFinished(() => remote.remove())
    await remote.query('postgres', "create role maker login password 'right'")
    await remote.query('postgres', 'create database made owner maker')
    const rules = path.join(remote.directory, 'data/pg_hba.conf')
    writeFileSync(rules, `host all maker all scram-sha-256\n${readFileSync(rules, 'utf8')}`)
    await remote.query('postgres', 'select pg_reload_conf()')
    const url = remote.tlsUrl('made', { role: 'maker' })
    const init = (env: Record<string, string>) => run(['store', 'init'], { SUBSTRAT_HOME: url, ...env })
    expect(init({})).toMatchObject({ exit: 11, stderr: expect.stringContaining('asks for a password') })
    const made = expect.stringMatching(/^created the home /)
    expect(init({ PGPASSWORD: 'right' })).toMatchObject({ exit: 0, stdout: made, stderr: '' })
    const again = { exit: 0, stdout: expect.stringContaining('already has schema version') }
    const secret = { SUBSTRAT_HOME: url.replace('maker@', 'maker:right@') }
    expect(init(secret)).toMatchObject(again)
    const serve = ['serve', '--listen', '127.0.0.1:0', '--exit-when-idle', '1s']
    for (const env of [{ SUBSTRAT_HOME: url, PGPASSWORD: 'right' }, secret])
      expect(run(serve, env)).toMatchObject({ exit: 0, stderr: expect.stringContaining('listening') })
  })

  test('store init refuses a database whose encoding lacks characters of agents', async () => {
    await server.query('postgres', "create database latin encoding 'LATIN1' template template0")
    const made = run(['store', 'init'], { SUBSTRAT_HOME: server.url('latin') })
    expect([made.exit, made.stderr]).toEqual([
      11,
      expect.stringMatching(/encoding LATIN1[\s\S]*createdb --encoding UTF8 --template template0/),
    ])
    expect(await server.query('latin', "select to_regnamespace('substrat') as it")).toEqual([{ it: null }])
  })

  test('a role that may only read sees who holds an agent, and changes nothing', async () => {
    const cwd = tempDirectory()
    const gate = `command=until [ -e ${cwd}/gate ]; do sleep 0.05; done; echo done`
    expect(run(['spawn', '--name', 'gated', '--provider', 'exec', '--option', gate]).exit).toBe(0)
    await server.query(home, 'create role watcher login')
    await server.query(home, "select substrat.let_read('watcher')")
    expect(run(['store', 'init']).exit).toBe(0)
    const env = { SUBSTRAT_HOME: server.url(home, 'watcher') }
    const child = spawn(process.execPath, [RUN, 'send', 'gated', 'go'], { env: server.environment(home) })
    const ended = new Promise((resolve) => child.once('close', resolve))
    await waitFor(() => run(['list'], env).stdout.includes('running'), 'a running turn')
    expect(JSON.parse(run(['show', 'gated', '--json'], env).stdout).holder).toMatchObject({
      pid: child.pid,
      command: 'substrat send',
    })
    const names = await server.query(
      home,
      'select application_name as name from pg_stat_activity where datname = $1',
      [home],
    )
    expect(names).toContainEqual({ name: 'substrat send gated' })
    expect(run(['log', 'gated'], env).exit).toBe(0)
    expect(run(['send', 'notes', 'x'], env)).toMatchObject({
      exit: 11,
      stderr: expect.stringContaining('permission'),
    })
    writeFileSync(path.join(cwd, 'gate'), '')
    expect(await ended).toBe(0)
  })
})
