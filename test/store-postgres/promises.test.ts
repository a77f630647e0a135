/** The claims of docs/postgres.md about rights, backups and a server that restarts. */
import { spawn, spawnSync } from 'node:child_process'
import { readFileSync } from 'node:fs'
import path from 'node:path'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { Postgres, RUN, whyNoPostgres } from '../support/postgres.js'
import { waitFor } from '../support/wait.js'

const PAGE = readFileSync(path.join(import.meta.dirname, '../../docs/postgres.md'), 'utf8')

describe.skipIf(whyNoPostgres() !== undefined)('a home in PostgreSQL', () => {
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
  const ok = (home: string, args: string[], env: Record<string, string> = {}): string => {
    const { exit, stdout, stderr } = run(home, args, env)
    expect(exit, `${args.join(' ')}: ${stderr}`).toBe(0)
    return stdout
  }

  test('needs only the rights on the page, and a role without them changes nothing', async () => {
    const home = await server.newHome()
    await server.query(home, 'create role agents login')
    const env = { SUBSTRAT_HOME: server.url(home, 'agents') }
    const without = run(home, ['spawn', '--name', 'notes', '--provider', 'scripted'], env)
    expect([without.exit, without.stdout]).toEqual([11, ''])
    const grants = /```sql\n([\s\S]*?)```/.exec(PAGE)?.[1] ?? ''
    expect(grants).toContain('grant execute')
    await server.query(home, grants)
    ok(home, ['spawn', '--name', 'notes', '--provider', 'scripted'], env)
    expect(ok(home, ['send', 'notes', 'hello'], env)).toContain('hello')
    expect(ok(home, ['log', 'notes'], env)).toContain('hello')
    expect(run(home, ['doctor', '--all'], env).exit).toBe(0)
    for (const statement of ['select * from substrat.batch', 'delete from substrat.agent'])
      await expect(server.query(home, `set role agents; ${statement}`)).rejects.toThrow('permission denied')
  })

  test('is the same after pg_dump and a restore into an empty database', async () => {
    const home = await server.newHome()
    ok(home, ['spawn', '--name', 'notes', '--provider', 'scripted'])
    ok(home, ['send', 'notes', 'hello', '--key', 'k1'])
    ok(home, ['send', 'notes', 'later', '--queue'])
    const dump = server.program('pg_dump', [home])
    const restored = await server.newDatabase()
    server.program('psql', ['-q', '-v', 'ON_ERROR_STOP=1', restored], dump)
    for (const args of [
      ['log', 'notes', '--all'],
      ['show', 'notes', '--json'],
      ['list', '--json'],
    ])
      expect(ok(restored, args), args.join(' ')).toBe(ok(home, args))
    expect(run(restored, ['doctor', '--all']).exit).toBe(0)
    expect(ok(restored, ['send', 'notes', 'hello', '--key', 'k1'])).toContain('hello')
  })

  test('continues a turn beside which the server was killed and started again', async () => {
    const home = await server.newHome()
    ok(home, ['spawn', '--name', 'worker', '--provider', 'exec', '--option', 'command=sleep 2; echo done'])
    const child = spawn(process.execPath, [RUN, 'send', 'worker', 'go', '--key', 'k1'], {
      env: server.environment(home),
      stdio: ['ignore', 'pipe', 'pipe'],
    })
    let stdout = ''
    let stderr = ''
    child.stdout.on('data', (bytes) => {
      stdout += bytes
    })
    child.stderr.on('data', (bytes) => {
      stderr += bytes
    })
    const ended = new Promise<number | null>((resolve) => child.once('close', resolve))
    await waitFor(
      () => JSON.parse(ok(home, ['show', 'worker', '--json'])).agent?.status === 'running',
      'a running turn',
    )
    server.stop()
    server.start()
    expect([await ended, stdout], stderr).toEqual([0, 'done\n'])
    expect(ok(home, ['send', 'worker', 'go', '--key', 'k1'])).toBe('done\n')
    expect(run(home, ['doctor', '--all']).exit).toBe(0)
  })
})
