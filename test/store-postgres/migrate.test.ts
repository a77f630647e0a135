/** `migrate` moves a whole home between stores. */
import { type ChildProcess, spawn, spawnSync } from 'node:child_process'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import os from 'node:os'
import path from 'node:path'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { Postgres, RUN, whyNoPostgres } from '../support/postgres.js'
import { PostgresProxy } from '../support/postgres-proxy.js'
import { waitFor } from '../support/wait.js'

const LONG = 'long '.repeat(20_000)

describe.skipIf(whyNoPostgres() !== undefined)('migrate', () => {
  let server: Postgres
  let scratch: string
  let places = 0
  beforeAll(() => {
    server = new Postgres()
    scratch = mkdtempSync(path.join(os.tmpdir(), 'migrate-'))
  })
  afterAll(() => {
    server?.remove()
    rmSync(scratch, { recursive: true, force: true })
  })

  const run = (home: string, args: string[], env: Record<string, string> = {}) => {
    const { status, stdout, stderr, signal } = spawnSync(process.execPath, [RUN, ...args], {
      env: { ...server.environment('unused'), ...env, SUBSTRAT_HOME: home },
      cwd: scratch,
      encoding: 'utf8',
    })
    return { exit: status, stdout, stderr, signal }
  }
  const ok = (home: string, ...args: string[]): string => {
    const { exit, stdout, stderr } = run(home, args)
    expect(exit, `${args.join(' ')}: ${stderr}`).toBe(0)
    return stdout
  }
  const directory = (): string => path.join(scratch, `home-${++places}`)
  const newPlace = async (kind: string): Promise<string> =>
    kind === 'files' ? directory() : server.url(await server.newHome())

  const templates = new Map<string, Promise<string>>()
  /** A copy of a home with two agents, blobs, a key, pending and taken mail, settings. */
  async function filled(kind: string): Promise<string> {
    const template = templates.get(kind) ?? newPlace(kind).then(fill)
    templates.set(kind, template)
    return copyOf(await template)
  }
  function fill(home: string): string {
    ok(home, 'spawn', '--name', 'lead', '--provider', 'scripted')
    ok(home, 'spawn', '--name', 'aide', '--parent', 'lead', '--provider', 'scripted')
    ok(home, 'send', 'lead', LONG, '--key', 'k1')
    ok(home, 'send', 'lead/aide', 'hello')
    ok(home, 'send', 'lead', 'asked', '--kind', 'notification', '--queue')
    ok(home, 'inbox', '--take')
    ok(home, 'send', 'lead/aide', 'later', '--queue', '--no-drain')
    ok(home, 'config', 'set', 'slots_max', '3')
    return home
  }

  const logs = (home: string): string[] =>
    ['lead', 'lead/aide'].map((agent) => ok(home, 'log', agent, '--all', '--json'))

  test.each([
    ['files', 'PostgreSQL'],
    ['PostgreSQL', 'files'],
    ['files', 'files'],
    ['PostgreSQL', 'PostgreSQL'],
  ])('from %s to %s, the target has everything and the source is closed', async (one, other) => {
    const [from, to] = [await filled(one), await newPlace(other)]
    const before = { logs: logs(from), inbox: ok(from, 'inbox', 'lead/aide', '--json') }
    ok(from, 'migrate', '--from', from, '--to', to)
    expect({ logs: logs(to), inbox: ok(to, 'inbox', 'lead/aide', '--json') }).toEqual(before)
    expect(ok(to, 'config', 'get', 'slots_max')).toContain('3')
    expect(ok(to, 'send', 'lead', LONG, '--key', 'k1')).toContain('long')
    expect(logs(to)[0]).toBe(before.logs[0])
    expect(run(to, ['doctor', '--all']).exit).toBe(0)
    for (const command of [['list'], ['send', 'lead', 'again'], ['spawn', '--provider', 'scripted']]) {
      const closed = run(from, command)
      expect([closed.exit, closed.stderr], command.join(' ')).toEqual([
        11,
        expect.stringContaining(`was migrated to ${to}`),
      ])
    }
    ok(to, 'deliver', '--all')
    expect(ok(to, 'log', 'lead/aide')).toContain('echo: later')
    const again = run(from, ['migrate', '--from', from, '--to', to])
    expect([again.exit, again.stdout]).toEqual([0, expect.stringContaining('already has the home')])
  })

  test('a target with agents, a source that is not there and a password in an argument are refused, and nothing changes', async () => {
    const [from, other] = [await filled('files'), directory()]
    ok(other, 'spawn', '--name', 'another', '--provider', 'scripted')
    const before = logs(from)
    const occupied = run(from, ['migrate', '--from', from, '--to', other])
    expect([occupied.exit, occupied.stderr]).toEqual([
      11,
      expect.stringContaining('is another home already, and is not empty'),
    ])
    const secret = run(from, ['migrate', '--from', from, '--to', 'postgres://me:hunter2@/x'])
    expect([secret.exit, secret.stderr]).toEqual([2, expect.not.stringContaining('hunter2')])
    expect(logs(from)).toEqual(before)
    expect(run(from, ['migrate', '--from', directory(), '--to', directory()]).exit).toBe(11)
  })

  test.each([
    ['files', 'PostgreSQL'],
    ['PostgreSQL', 'files'],
  ])(
    'from %s to %s, killed at statements, no two homes are open and the same command ends it',
    async (one, other) => {
      const template = await filled(one)
      const whole = logs(template)
      const counted = await killedAt(await copyOf(template), await newPlace(other), undefined)
      expect(counted).toBeGreaterThan(10)
      const every = Number(process.env.KILL_EVERY ?? Math.ceil(counted / 6))
      for (let at = 1; at <= counted; at += every) {
        const [from, to] = [await copyOf(template), await newPlace(other)]
        await killedAt(from, to, at)
        const open = [from, to].filter((home) => run(home, ['show', 'lead']).exit === 0)
        expect(open.length, `open homes after statement ${at}`).toBeLessThanOrEqual(1)
        ok(from, 'migrate', '--from', from, '--to', to)
        expect(logs(to), `statement ${at}`).toEqual(whole)
        expect(run(to, ['doctor', '--all']).exit).toBe(0)
      }
    },
  )

  test('a migration that was killed is undone with --cancel, and begins anew', async () => {
    const [from, to] = [await filled('files'), await newPlace('PostgreSQL')]
    await killedAt(from, to, 12)
    expect(run(from, ['list']).stderr).toContain('--cancel')
    ok(from, 'migrate', '--from', from, '--to', to, '--cancel')
    expect(ok(from, 'send', 'lead', 'more')).toBe('echo: more\n')
    const changed = logs(from)
    expect(run(from, ['migrate', '--from', from, '--to', to, '--cancel']).exit).toBe(2)
    ok(from, 'migrate', '--from', from, '--to', to)
    expect(logs(to)).toEqual(changed)
  })

  test.each(['files', 'PostgreSQL'])(
    'from %s, a turn that runs is named and refused, or waited for',
    async (kind) => {
      const [from, to] = [await newPlace(kind), await newPlace(kind)]
      const go = path.join(scratch, `go-${++places}`)
      const command = `until [ -e ${go} ]; do sleep 0.05; done; echo done`
      ok(from, 'spawn', '--name', 'lead', '--provider', 'exec', '--option', `command=${command}`)
      const start = (...args: string[]) => {
        const env = { ...server.environment('unused'), SUBSTRAT_HOME: from }
        const child = spawn(process.execPath, [RUN, ...args], { env, cwd: scratch, stdio: 'ignore' })
        return new Promise((resolve) => child.once('exit', resolve))
      }
      const turn = start('send', 'lead', 'work')
      await waitFor(() => JSON.parse(ok(from, 'show', 'lead', '--json')).agent.status === 'running', 'a turn')
      const refused = run(from, ['migrate', '--from', from, '--to', to, '--timeout', '0s'])
      expect([refused.exit, refused.stderr]).toEqual([
        4,
        expect.stringMatching(/agent lead is busy: substrat send, pid \d+ on /),
      ])
      const moving = start('migrate', '--from', from, '--to', to)
      writeFileSync(go, '')
      expect([await turn, await moving]).toEqual([0, 0])
      expect(ok(to, 'show', 'lead', '--reply')).toBe('done\n')
    },
  )

  /** Kills the command when that statement was executed. Returns the number of statements. */
  async function killedAt(from: string, to: string, at: number | undefined): Promise<number> {
    let child: ChildProcess | undefined
    const fault = { at: at ?? 0, loss: 'unanswered' as const, onLoss: () => void child?.kill('SIGKILL') }
    const proxy = await PostgresProxy.before(server.directory, fault)
    const [one = '', other = ''] = [from, to].map((home) => home.replace(server.directory, proxy.directory))
    child = spawn(process.execPath, [RUN, 'migrate', '--from', one, '--to', other], {
      env: { ...server.environment('unused'), SUBSTRAT_HOME: one },
      cwd: scratch,
      stdio: 'ignore',
    })
    const killed = child
    const exit = await new Promise((resolve) => killed.once('exit', resolve))
    await proxy.close()
    expect(exit, `statement ${at}`).toBe(at === undefined ? 0 : null)
    return proxy.calls.length
  }

  async function copyOf(home: string): Promise<string> {
    if (!home.startsWith('postgres:')) {
      const copy = directory()
      spawnSync('cp', ['-a', home, copy])
      return copy
    }
    const database = /@\/(\w+)\?/.exec(home)?.[1] as string
    return server.url(await server.copy(database))
  }
})
