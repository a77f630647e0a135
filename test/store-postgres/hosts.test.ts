/** Holders that stop, die or lose their server, and ways to the server. */
import { type ChildProcess, spawn, spawnSync } from 'node:child_process'
import { existsSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import os from 'node:os'
import path from 'node:path'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { Pooler, whyNoPooler } from '../support/pooler.js'
import { Postgres, RUN, whyNoPostgres } from '../support/postgres.js'
import { PostgresProxy } from '../support/postgres-proxy.js'
import { waitFor } from '../support/wait.js'

/** Its turn ends once the file exists. */
const GATED = 'until [ -e open ]; do sleep 0.05; done; echo done'
const SHORT = { SUBSTRAT_LEASE_MS: '2000' }
const SECRET = 'hunter2-never-shown'

describe.skipIf(whyNoPostgres() !== undefined)('a home in PostgreSQL', () => {
  const root = mkdtempSync(path.join(os.tmpdir(), 'pg-hosts-'))
  const started: ChildProcess[] = []
  let server: Postgres
  let workspaces = 0
  beforeAll(() => {
    server = new Postgres({ hasTls: true })
  })
  afterAll(() => {
    for (const child of started) child.kill('SIGKILL')
    server?.remove()
    rmSync(root, { recursive: true, force: true })
  })

  /** A home, and a directory whose commands use it. */
  async function newPlace(env: Record<string, string> = {}) {
    const [home, cwd] = [await server.newHome(), path.join(root, `${++workspaces}`)]
    mkdirSync(cwd)
    const all = { ...server.environment(home), ...env }
    const run = (argv: string[], more: Record<string, string> = {}) => {
      const { status, stdout, stderr } = spawnSync(process.execPath, [RUN, ...argv], {
        cwd,
        env: { ...all, ...more },
        encoding: 'utf8',
      })
      return { exit: status, stdout, stderr }
    }
    const start = (argv: string[], under: string[] = []) => {
      const [program, ...rest] = [...under, process.execPath, RUN, ...argv] as [string, ...string[]]
      const child = spawn(program, rest, { cwd, env: all, stdio: ['ignore', 'ignore', 'pipe'] })
      started.push(child)
      let stderr = ''
      child.stderr.on('data', (bytes) => {
        stderr += bytes
      })
      const ended = new Promise<{ exit: number | null; stderr: string }>((resolve) =>
        child.once('exit', (exit) => setImmediate(() => resolve({ exit, stderr }))),
      )
      return { child, ended }
    }
    const isRunning = async () =>
      (await server.query(home, 'select lease from substrat.agent where lease is not null')).length > 0
    return { home, cwd, run, start, isRunning, open: () => writeFileSync(path.join(cwd, 'open'), '') }
  }
  const worker = ['spawn', '--name', 'worker', '--provider', 'exec', '--option', `command=${GATED}`]

  test('a holder that was stopped past its lease writes nothing more, and exits 4', async () => {
    const { home, run, start, isRunning, open } = await newPlace(SHORT)
    expect(run(worker).exit).toBe(0)
    const { child, ended } = start(['send', 'worker', 'go'])
    await waitFor(isRunning, 'a running turn')
    await waitFor(
      () => JSON.parse(run(['show', 'worker', '--json']).stdout).agent.status === 'running',
      'a turn',
    )
    child.kill('SIGSTOP')
    const next = run(['recover', '--all', '--continue', 'none', '--timeout', '60s'])
    await waitFor(async () => {
      const [row] = await server.query(
        home,
        'select expires_at < now() or lease is null as is_over from substrat.agent',
      )
      return row?.is_over === true
    }, 'the end of the lease')
    const other = run(['suspend', 'worker', '--timeout', '60s'])
    expect(other.stderr + next.stderr).not.toContain('unexpected')
    const written = async () =>
      (await server.query(home, 'select log_bytes from substrat.agent'))[0]?.log_bytes
    const before = await written()
    open()
    child.kill('SIGCONT')
    const { exit, stderr } = await ended
    expect([exit, stderr]).toEqual([4, expect.stringContaining('the lease was lost')])
    expect(await written()).toBe(before)
    expect(run(['doctor', '--all']).exit).toBe(0)
  })

  test.skipIf(!canUnshare())(
    'a holder that dies on another host is replaced when its lease ends',
    async () => {
      const { home, run, start, isRunning } = await newPlace({ SUBSTRAT_LEASE_MS: '5000' })
      expect(run(worker).exit).toBe(0)
      const { child, ended } = start(['send', 'worker', 'go'], ['unshare', '--pid', '--fork', '--kill-child'])
      await waitFor(isRunning, 'a running turn')
      child.kill('SIGKILL')
      await ended
      const [{ expires_at: end } = {}] = await server.query(home, 'select expires_at from substrat.agent')
      const busy = run(['send', 'worker', 'again', '--if-busy', 'fail'])
      expect([busy.exit, busy.stderr]).toEqual([4, expect.stringContaining('worker is busy')])
      const next = run(['suspend', 'worker', '--timeout', '10m'])
      expect(next.stderr).not.toContain('busy')
      expect(await server.query(home, 'select now() >= $1 as is_past', [end])).toEqual([{ is_past: true }])
      expect(run(['doctor', '--all']).exit).toBe(0)
    },
  )

  test.each([
    ['send', 'notes', 'hello', '--key', 'k1'],
    ['send', 'notes', 'later', '--queue', '--key', 'k2'],
  ])('a server that crashes and restarts at a call loses and doubles nothing: %s %s %s', async (...argv) => {
    const crashing = new Postgres()
    try {
      const first = await crashing.newHome()
      const go = (home: string, args: string[], host?: string) =>
        new Promise<{ exit: number | null; stderr: string }>((resolve) => {
          const env = { ...crashing.environment(home), SUBSTRAT_HOME: crashing.url(home, 'postgres', host) }
          const child = spawn(process.execPath, [RUN, ...args], {
            env,
            cwd: root,
            stdio: ['ignore', 'ignore', 'pipe'],
          })
          let stderr = ''
          child.stderr.on('data', (bytes) => {
            stderr += bytes
          })
          child.once('close', (exit) => resolve({ exit, stderr }))
        })
      await go(first, ['spawn', '--name', 'notes', '--provider', 'scripted'])
      const counting = await PostgresProxy.before(crashing.directory)
      const whole = await crashing.copy(first)
      expect((await go(whole, argv, counting.directory)).exit).toBe(0)
      await counting.close()
      const changes = /^(take|append|end_turn|put_mail|move_mail|rest)$/
      const places = counting.calls.flatMap((name, index) => (changes.test(name) ? [index + 1] : []))
      expect(places.length).toBeGreaterThan(2)
      for (const at of places) {
        const home = await crashing.copy(first)
        const onLoss = (): void => {
          crashing.stop()
          crashing.start()
        }
        const proxy = await PostgresProxy.before(crashing.directory, { at, loss: 'unanswered', onLoss })
        const { exit, stderr } = await go(home, argv, proxy.directory)
        await proxy.close()
        expect([exit, counting.calls[at - 1]], stderr).toEqual([0, counting.calls[at - 1]])
        const sizes = 'select count(*) as batches from substrat.batch'
        expect(await crashing.query(home, sizes)).toEqual(await crashing.query(whole, sizes))
        expect((await go(home, ['doctor', '--all'])).exit).toBe(0)
      }
    } finally {
      crashing.remove()
    }
  })

  test('TLS needs a certificate of the right authority, for the right name', async () => {
    const { home, run } = await newPlace()
    const spawned = ['spawn', '--name', 'notes', '--provider', 'scripted']
    expect(run(spawned, { SUBSTRAT_HOME: server.tlsUrl(home) }).exit).toBe(0)
    expect(run(['send', 'notes', 'hello'], { SUBSTRAT_HOME: server.tlsUrl(home) }).stdout).toBe(
      'echo: hello\n',
    )
    const wrongName = run(['list'], { SUBSTRAT_HOME: server.tlsUrl(home, { by: '127.0.0.1' }) })
    expect([wrongName.exit, wrongName.stderr]).toEqual([11, expect.stringContaining('127.0.0.1')])
    const unknown = server.tlsUrl(home).replace(/&sslrootcert=.*/, '')
    expect(run(['list'], { SUBSTRAT_HOME: unknown }).exit).toBe(11)
    for (const sslmode of ['disable', 'require', 'verify-ca']) {
      const other = server.tlsUrl(home, { by: 'db.example.com', sslmode })
      const refused = run(['list'], { SUBSTRAT_HOME: other })
      expect([refused.exit, refused.stderr], sslmode).toEqual([11, expect.stringContaining('verify-full')])
    }
  })

  test('a warning of the thread that cannot be printed ends no turn', async () => {
    const { home, run, isRunning, cwd, open } = await newPlace()
    expect(run(worker).exit).toBe(0)
    // pg warns of this sslmode, in both threads.
    const url = server.tlsUrl(home, { sslmode: 'require' })
    const child = spawn(
      'sh',
      ['-c', 'exec "$0" "$@" 2>/dev/full', process.execPath, RUN, 'send', 'worker', 'go'],
      {
        cwd,
        env: { ...server.environment(home), SUBSTRAT_HOME: url },
        stdio: ['ignore', 'pipe', 'ignore'],
      },
    )
    started.push(child)
    const ended = new Promise((resolve) => child.once('exit', resolve))
    await waitFor(isRunning, 'a running turn')
    open()
    expect(await ended).toBe(0)
  })

  test('SUBSTRAT_INSECURE=1 allows a connection to an address of another machine without TLS', async () => {
    const { home, run } = await newPlace()
    // An address of this machine that is not recognized as one.
    const open = { SUBSTRAT_HOME: server.tlsUrl(home, { by: '0.0.0.0', sslmode: 'disable' }) }
    const refused = run(['list'], open)
    expect([refused.exit, refused.stderr]).toEqual([11, expect.stringContaining('SUBSTRAT_INSECURE=1')])
    expect(run(['list'], { ...open, SUBSTRAT_INSECURE: '1' }).exit).toBe(0)
  })

  test('a password is in no process list, environment or file', async () => {
    const { home, cwd, run, isRunning, open } = await newPlace()
    const url = server.url(home).replace('postgres@', `postgres:${SECRET}@`)
    expect(run(worker, { SUBSTRAT_HOME: url }).exit).toBe(0)
    const env = { ...server.environment(home), SUBSTRAT_HOME: url }
    const child = spawn(process.execPath, [RUN, 'send', 'worker', 'go'], { cwd, env, stdio: 'ignore' })
    started.push(child)
    await waitFor(isRunning, 'a running turn')
    const programs = () => below(child.pid as number).filter((pid) => fact(pid, 'cmdline').includes(GATED))
    await waitFor(() => programs().length > 0, 'the program of the turn')
    for (const pid of programs())
      for (const name of ['cmdline', 'environ']) expect(fact(pid, name), name).not.toContain(SECRET)
    expect(fact(`${child.pid}`, 'cmdline')).not.toContain(SECRET)
    open()
    await new Promise((resolve) => child.once('exit', resolve))
    const grep = spawnSync('grep', ['-rl', SECRET, cwd, server.directory], { encoding: 'utf8' })
    expect(grep.stdout).toBe('')
  })

  test.skipIf(whyNoPooler() !== undefined)('a pooler in transaction mode changes nothing', async () => {
    const { home, run } = await newPlace()
    const pooler = await Pooler.before(server)
    try {
      const through = { SUBSTRAT_HOME: server.url(home, 'postgres', pooler.directory) }
      const ok = (...argv: string[]): string => {
        const { exit, stdout, stderr } = run(argv, through)
        expect(exit, `${argv.join(' ')}: ${stderr}`).toBe(0)
        return stdout
      }
      ok('spawn', '--name', 'notes', '--provider', 'scripted')
      expect(ok('send', 'notes', 'hello', '--key', 'k1')).toBe('echo: hello\n')
      expect(ok('send', 'notes', 'hello', '--key', 'k1')).toBe('echo: hello\n')
      ok('send', 'notes', 'later', '--queue')
      ok('deliver', '--all')
      ok('doctor', '--all')
      expect(ok('log', 'notes')).toBe(run(['log', 'notes']).stdout)
    } finally {
      await pooler.close()
    }
  })
})

function canUnshare(): boolean {
  return spawnSync('unshare', ['--pid', '--fork', 'true']).status === 0
}

/** Empty once the process has ended. */
function fact(pid: string, name: string): string {
  try {
    return readFileSync(`/proc/${pid}/${name}`, 'latin1')
  } catch {
    return ''
  }
}

/** The processes that descend from this one. */
function below(pid: number): string[] {
  const tasks = existsSync(`/proc/${pid}/task`) ? readdirSync(`/proc/${pid}/task`) : []
  return tasks
    .flatMap((task) => fact(`${pid}`, `task/${task}/children`).split(' '))
    .filter((child) => child !== '')
    .flatMap((child) => [child, ...below(Number(child))])
}
