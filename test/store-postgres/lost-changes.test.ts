/** A server that lacks changes that it acknowledged: a promoted standby, and an older dump that was restored. */
import { spawnSync } from 'node:child_process'
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import os from 'node:os'
import path from 'node:path'
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import { Postgres, RUN, whyNoPostgres } from '../support/postgres.js'

const LEASE_MS = '4000'

describe.skipIf(whyNoPostgres() !== undefined)('after an older dump was restored over a home', () => {
  let server: Postgres
  let state: string
  beforeAll(() => {
    server = new Postgres()
  })
  afterAll(() => server?.remove())
  beforeEach(() => {
    state = mkdtempSync(path.join(os.tmpdir(), 'pg-seen-'))
  })

  const run = (home: string, args: string[], env: Record<string, string> = {}) => {
    const { status, stdout, stderr } = spawnSync(process.execPath, [RUN, ...args], {
      env: { ...server.environment(home), XDG_STATE_HOME: state, SUBSTRAT_LEASE_MS: LEASE_MS, ...env },
      encoding: 'utf8',
    })
    return { exit: status, stdout, stderr }
  }
  const ok = (home: string, ...args: string[]): string => {
    const { exit, stdout, stderr } = run(home, args)
    expect(exit, `${args.join(' ')}: ${stderr}`).toBe(0)
    return stdout
  }
  const restore = async (home: string, dump: string): Promise<void> => {
    await server.query(home, 'drop schema substrat cascade')
    server.program('psql', ['-q', '-v', 'ON_ERROR_STOP=1', home], dump)
  }

  test('no agent is taken for one lease, doctor explains it, and then everything continues', async () => {
    const home = await server.newHome()
    ok(home, 'spawn', '--name', 'notes', '--provider', 'scripted')
    ok(home, 'send', 'notes', 'first')
    const dump = server.program('pg_dump', [home])
    ok(home, 'send', 'notes', 'second')
    await restore(home, dump)
    const refused = run(home, ['send', 'notes', 'third', '--if-busy', 'fail'])
    expect([refused.exit, refused.stdout, refused.stderr]).toEqual([
      4,
      '',
      expect.stringMatching(
        /no agent is taken before .*Z, because .* a host has seen number \d+: an older copy was restored/,
      ),
    ])
    expect(refused.stderr).toContain('substrat doctor')
    // A reader is not refused, and a new message stays pending in the inbox.
    expect(ok(home, 'log', 'notes', '--all')).not.toContain('second')
    const explained = run(home, ['doctor'])
    expect([explained.exit, explained.stdout]).toEqual([
      0,
      expect.stringMatching(/no agent was taken until .*Z: the latest change of the server is number \d+/),
    ])
    expect(ok(home, 'send', 'notes', 'third', '--timeout', '1m')).toBe('echo: third\n')
    expect(ok(home, 'send', 'notes', 'fourth')).toBe('echo: fourth\n')
    expect(ok(home, 'log', 'notes', '--all')).not.toContain('second')
  })

  test('a host that has seen no later change continues, and so does one whose file is damaged', async () => {
    const home = await server.newHome()
    ok(home, 'spawn', '--name', 'notes', '--provider', 'scripted')
    const dump = server.program('pg_dump', [home])
    ok(home, 'send', 'notes', 'second')
    const [row] = await server.query(home, 'select home_id from substrat.home')
    await restore(home, dump)
    const other = mkdtempSync(path.join(os.tmpdir(), 'pg-seen-'))
    expect(run(home, ['send', 'notes', 'x', '--if-busy', 'fail'], { XDG_STATE_HOME: other })).toMatchObject({
      exit: 0,
    })
    await restore(home, dump)
    const directory = path.join(state, 'substrat', 'homes', row?.home_id as string)
    for (const name of ['seen', 'seen.latest']) {
      expect(readFileSync(path.join(directory, name), 'utf8')).toMatch(/^\{"change":\d+,/)
      writeFileSync(path.join(directory, name), '{"change":99')
    }
    expect(run(home, ['send', 'notes', 'y', '--if-busy', 'fail'])).toMatchObject({ exit: 0 })
    rmSync(other, { recursive: true })
  })
})
