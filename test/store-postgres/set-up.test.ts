/** The set-up of docs/postgres.md, as it is typed there. */
import { spawnSync } from 'node:child_process'
import { mkdirSync, mkdtempSync, readFileSync, rmSync } from 'node:fs'
import os from 'node:os'
import path from 'node:path'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { PLUGIN, Postgres, RUN, whyNoPostgres } from '../support/postgres.js'

const REPOSITORY = path.join(PLUGIN, '../..')

describe.skipIf(whyNoPostgres() !== undefined)('docs/postgres.md', () => {
  let server: Postgres
  let home: string
  beforeAll(() => {
    server = new Postgres()
    home = mkdtempSync(path.join(os.tmpdir(), 'pg-set-up-'))
    mkdirSync(path.join(home, 'data'))
  })
  afterAll(() => {
    server?.remove()
    rmSync(home, { recursive: true, force: true })
  })

  test('sets a home up with its two commands', async () => {
    const page = readFileSync(path.join(REPOSITORY, 'docs/postgres.md'), 'utf8')
    const [, block = ''] = /## Set it up[\s\S]*?```sh\n([^`]*)```/.exec(page) ?? []
    // With the socket of this test.
    const typed = block.replace('/run/postgresql', server.directory)
    expect(typed.trim().split('\n')).toHaveLength(2)
    await server.query('postgres', 'create database substrat')
    const script = `set -e\nsubstrat() { '${process.execPath}' '${RUN}' "$@"; }\n${typed}\nsubstrat spawn --name notes --provider scripted\nsubstrat send notes hello`
    const { status, stdout, stderr } = spawnSync('bash', ['-c', script], {
      cwd: REPOSITORY,
      env: {
        PATH: process.env.PATH ?? '',
        HOME: home,
        XDG_DATA_HOME: path.join(home, 'data'),
        PGUSER: 'postgres',
      },
      encoding: 'utf8',
    })
    expect([status, stdout], stderr).toEqual([0, expect.stringContaining('echo: hello')])
  })

  test('says that store init gives new functions to the roles that had the old ones', async () => {
    const database = await server.newHome()
    await server.query(database, 'create role agents login')
    await server.query(database, 'grant usage on schema substrat to agents')
    const as = (role: string, ...argv: string[]) =>
      spawnSync(process.execPath, [RUN, ...argv], {
        env: { ...server.environment(database), SUBSTRAT_HOME: server.url(database, role) },
        encoding: 'utf8',
      }).status
    expect(as('agents', 'list')).toBe(11)
    expect(as('postgres', 'store', 'init')).toBe(0)
    expect(as('agents', 'list')).toBe(0)
    expect(as('agents', 'spawn', '--provider', 'scripted')).toBe(0)
  })

  test('says that another role may run store init again for the owner of the schema', async () => {
    await server.query('postgres', 'create role owner login')
    await server.query('postgres', 'create database owned owner owner')
    const as = (role: string, ...argv: string[]) =>
      spawnSync(process.execPath, [RUN, ...argv], {
        env: { ...server.environment('owned'), SUBSTRAT_HOME: server.url('owned', role) },
        encoding: 'utf8',
      })
    for (const role of ['owner', 'postgres']) expect(as(role, 'store', 'init').stderr).toBe('')
    expect(as('owner', 'list').stderr).toBe('')
  })

  test('says that a home with an older schema is refused until store init has migrated it', async () => {
    const database = await server.newHome()
    const run = (...argv: string[]) =>
      spawnSync(process.execPath, [RUN, ...argv], { env: server.environment(database), encoding: 'utf8' })
    await server.query(database, 'update substrat.home set schema_version = 1')
    await server.query(database, 'drop function substrat.hello()')
    await server.query(
      database,
      `create function substrat.hello()
        returns table (home_id uuid, schema_version integer, format integer, config bytea, is_standby boolean)
        language sql as 'select h.home_id, h.schema_version, h.format, h.config, false from substrat.home h'`,
    )
    await server.query(
      database,
      'alter table substrat.home drop column migration, drop column timeline, drop column distrust, drop column last_tick',
    )
    await server.query(
      database,
      'drop table substrat.removed_agent, substrat.account, substrat.account_entry',
    )
    await server.query(database, 'drop sequence substrat.change')
    await server.query(database, 'alter table substrat.edge drop constraint edge_kind_check')
    await server.query(
      database,
      "alter table substrat.edge add constraint edge_kind_check check (kind in ('wait', 'arrival'))",
    )
    await server.query(database, 'drop function substrat.begin_with_name(text)')
    for (const argv of [['list'], ['send', 'notes', 'hello']]) {
      const { status, stderr } = run(...argv)
      expect([status, stderr]).toEqual([11, expect.stringContaining('substrat store init')])
    }
    expect(run('store', 'init').stdout).toContain('from schema version 1 to 7')
    expect(run('list').status).toBe(0)
  })
})
