/** The turns of an agent stay on the host of its workspace, unless a person says otherwise. */
import { type ChildProcess, spawn, spawnSync } from 'node:child_process'
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import os from 'node:os'
import path from 'node:path'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { hasHosts, Machine } from '../support/hosts.js'
import { Postgres, RUN, whyNoPostgres } from '../support/postgres.js'
import { waitFor } from '../support/wait.js'

describe.skipIf(whyNoPostgres() !== undefined || !hasHosts)('in a home that two hosts share', () => {
  const root = mkdtempSync(path.join(os.tmpdir(), 'pg-workspaces-'))
  let server: Postgres
  let workspaces = 0
  beforeAll(() => {
    server = new Postgres()
  })
  afterAll(() => {
    server?.remove()
    rmSync(root, { recursive: true, force: true })
  })

  /** `machineId`: of both hosts. By default each has its own. */
  async function newPlace({ machineId, address }: { machineId?: string; address?: string } = {}) {
    const [home, workspace] = [await server.newHome(), path.join(root, `w${++workspaces}`)]
    mkdirSync(workspace)
    const hosts = { a: new Machine(root, 'ci-1', machineId), b: new Machine(root, 'ci-2', machineId) }
    const env = { ...server.environment(home), ...(address === undefined ? {} : { SUBSTRAT_HOME: address }) }
    const start = (host: 'a' | 'b', ...argv: string[]): ChildProcess => {
      const [program, ...rest] = hosts[host].command([process.execPath, RUN, ...argv])
      return spawn(program, rest, { env, cwd: workspace, stdio: 'ignore' })
    }
    const on = (host: 'a' | 'b', ...argv: string[]) => {
      const [program, ...rest] = hosts[host].command([process.execPath, RUN, ...argv])
      const { status, stdout, stderr } = spawnSync(program, rest, { env, cwd: workspace, encoding: 'utf8' })
      return { exit: status, stdout, stderr }
    }
    const ok = (host: 'a' | 'b', ...argv: string[]): string => {
      const { exit, stdout, stderr } = on(host, ...argv)
      expect(exit, `${argv.join(' ')}: ${stderr}`).toBe(0)
      return stdout
    }
    const log = (): string => ok('a', 'log', 'notes', '--all', '--json')
    return { home, workspace, env, start, on, ok, log }
  }

  const SPAWN = ['spawn', '--name', 'notes', '--provider', 'scripted']
  const PROGRAM = ['spawn', '--name', 'notes', '--provider', 'exec', '--option', 'command=cat']

  test('each command that would run a turn is refused on the other host, names the host and writes nothing', async () => {
    const { on, ok, log } = await newPlace()
    ok('a', ...SPAWN)
    ok('a', 'send', 'notes', 'hello')
    const before = log()
    for (const argv of [
      ['send', 'notes', 'again'],
      ['resume', 'notes'],
      ['retry', 'notes'],
    ]) {
      const refused = on('b', ...argv)
      expect([refused.exit, refused.stderr], argv.join(' ')).toEqual([
        13,
        expect.stringMatching(/notes belongs to the host ci-1: .*substrat set notes --workspace DIR --here/),
      ])
    }
    const { exit, stdout } = on('b', 'send', 'notes', 'again', '--json')
    expect([exit, JSON.parse(stdout).error]).toEqual([
      13,
      expect.objectContaining({ code: 'OTHER_HOST', host_name: 'ci-1' }),
    ])
    expect(log()).toBe(before)
    expect(ok('a', 'send', 'notes', 'again')).toBe('echo: again\n')
  })

  test('a decision on the other host is refused, and the turn still waits', async () => {
    const { on, ok, workspace } = await newPlace()
    const scenario = path.join(workspace, 'ask.json')
    writeFileSync(
      scenario,
      JSON.stringify({
        responses: [{ tools: [{ name: 'shell', input: { command: 'echo hi' } }] }, { say: 'done' }],
      }),
    )
    ok('a', ...SPAWN, '--option', `scenario=${scenario}`)
    expect(on('a', 'send', 'notes', 'go').exit).toBe(5)
    expect(on('b', 'approve', 'notes').exit).toBe(13)
    expect(JSON.parse(ok('b', 'show', 'notes', '--json')).agent.status).toBe('waiting')
    expect(ok('a', 'approve', 'notes')).toContain('done')
  })

  test('mail from the other host stays pending there, and the own host delivers it', async () => {
    const { on, ok } = await newPlace()
    ok('a', ...SPAWN)
    const queued = on('b', 'send', 'notes', 'later', '--queue')
    expect([queued.exit, queued.stderr]).toEqual([0, expect.stringContaining('on the host ci-1')])
    ok('b', 'deliver', '--all')
    ok('b', 'recover', '--all')
    expect(JSON.parse(ok('b', 'show', 'notes', '--json')).agent.inbox).toBe(1)
    expect(on('b', 'deliver', 'notes').exit).toBe(13)
    ok('a', 'deliver', '--all')
    expect(ok('b', 'log', 'notes')).toContain('echo: later')
  })

  test('machines with one machine-id count as one host: each runs the turns of the other, one at a time', async () => {
    const { home, workspace, start, on, ok } = await newPlace({ machineId: '0123456789abcdef'.repeat(2) })
    const command = 'until [ -e open ]; do sleep 0.05; done; echo done'
    ok('a', 'spawn', '--name', 'notes', '--provider', 'exec', '--option', `command=${command}`)
    const first = start('a', 'send', 'notes', 'go')
    const ended = new Promise((resolve) => first.once('exit', resolve))
    await waitFor(
      () => JSON.parse(ok('b', 'show', 'notes', '--json')).agent.status === 'running',
      'a turn on the first machine',
    )
    // The other machine cannot see the process, and does not count it as dead.
    expect(on('b', 'send', 'notes', 'again', '--if-busy', 'fail').exit).toBe(4)
    const [held] = await server.query(home, "select holder->>'host' as host from substrat.agent")
    expect(held).toEqual({ host: 'ci-1' })
    writeFileSync(path.join(workspace, 'open'), '')
    expect(await ended).toBe(0)
    expect(ok('b', 'send', 'notes', 'again')).toBe('done\n')
  })

  test('an agent that came by migrate belongs to the host of its latest turn, and without a turn to none', async () => {
    const files = path.join(root, `home-${workspaces + 1}`)
    const before = await newPlace({ address: files })
    before.ok('a', ...SPAWN)
    before.ok('a', 'spawn', '--name', 'fresh', '--provider', 'scripted')
    before.ok('a', 'send', 'notes', 'hello')
    before.ok('a', 'migrate', '--from', files, '--to', server.url(before.home))
    const { on, ok } = await newPlace({ address: server.url(before.home) })
    const refused = on('b', 'send', 'notes', 'again')
    expect([refused.exit, refused.stderr]).toEqual([13, expect.stringContaining('the host ci-1')])
    expect(ok('b', 'send', 'fresh', 'hello')).toBe('echo: hello\n')
  })

  test('with the scope any, at spawn, by the setting or by set, every host runs its turns', async () => {
    const { on, ok } = await newPlace()
    ok('a', ...SPAWN, '--workspace-scope', 'any')
    expect(ok('b', 'send', 'notes', 'one')).toBe('echo: one\n')
    ok('a', 'set', 'notes', '--workspace-scope', 'host')
    expect(on('b', 'send', 'notes', 'two').exit).toBe(13)
    ok('b', 'set', 'notes', '--workspace-scope', 'any')
    expect(ok('b', 'send', 'notes', 'two')).toBe('echo: two\n')
    ok('a', 'config', 'set', 'workspace_scope', 'any')
    ok('a', 'spawn', '--name', 'other', '--provider', 'scripted')
    expect(ok('b', 'send', 'other', 'three')).toBe('echo: three\n')
    const [shown, listed] = [ok('b', 'show', 'other'), ok('b', 'list')]
    expect(shown).toContain('ci-1; any host may run its turns')
    expect(listed).toContain('other')
  })

  test('set --here makes the other host its host, and needs the directory there', async () => {
    const { on, ok, workspace } = await newPlace()
    ok('a', ...SPAWN)
    expect(on('b', 'set', 'notes', '--workspace', workspace).exit).toBe(13)
    expect(on('b', 'set', 'notes', '--workspace', path.join(workspace, 'missing'), '--here').exit).toBe(2)
    ok('b', 'set', 'notes', '--workspace', workspace, '--here')
    expect(ok('b', 'send', 'notes', 'here')).toBe('echo: here\n')
    expect(on('a', 'send', 'notes', 'there').stderr).toContain('belongs to the host ci-2')
  })

  test('resume --reseed begins a new session on the other host, which is its host from then on', async () => {
    const { on, ok } = await newPlace()
    ok('a', ...PROGRAM)
    ok('a', 'send', 'notes', 'one')
    ok('b', 'resume', 'notes', '--reseed')
    expect(ok('b', 'send', 'notes', 'two')).toContain('two')
    expect(on('a', 'send', 'notes', 'three').stderr).toContain('belongs to the host ci-2')
  })

  test('a child has the scope of its parent', async () => {
    const { on, ok } = await newPlace()
    ok('a', 'spawn', '--name', 'lead', '--provider', 'scripted', '--workspace-scope', 'any')
    ok('a', 'spawn', '--name', 'aide', '--parent', 'lead', '--provider', 'scripted')
    expect(ok('b', 'send', 'lead/aide', 'one')).toBe('echo: one\n')
    ok(
      'a',
      'spawn',
      '--name',
      'own',
      '--parent',
      'lead',
      '--provider',
      'scripted',
      '--workspace-scope',
      'host',
    )
    expect(on('b', 'send', 'lead/own', 'one').exit).toBe(13)
  })

  test('show names the holder with the end of its lease', async () => {
    const { ok, home } = await newPlace()
    ok('a', ...SPAWN)
    await server.query(
      home,
      `update substrat.agent set lease = gen_random_uuid(), expires_at = now() + interval '20 seconds',
       holder = jsonb_build_object('pid', 1, 'host', 'ci-9', 'command', 'substrat send', 'since', '2026-01-01T00:00:00.000Z',
         'boot_id', 'x/1/1/1')`,
    )
    const { holder, workspace_host } = JSON.parse(ok('b', 'show', 'notes', '--json'))
    expect(workspace_host).toMatchObject({ host_name: 'ci-1', scope: 'host' })
    expect(holder).toMatchObject({
      host: 'ci-9',
      pid: 1,
      lease_ends_at: expect.stringMatching(/^\d{4}-.*Z$/),
    })
    expect(ok('b', 'show', 'notes')).toContain('its lease ends at')
  })
})

test('a home in files records no host, and refuses the options for shared homes', async () => {
  const { House } = await import('../support/cli.js')
  const house = new House()
  const id = await house.spawn('notes')
  expect(house.records(id)[0]).not.toHaveProperty('host_name')
  expect((await house.run(['set', 'notes', '--here'])).exit).toBe(2)
  expect((await house.run(['spawn', '--provider', 'scripted', '--workspace-scope', 'any'])).exit).toBe(2)
})
