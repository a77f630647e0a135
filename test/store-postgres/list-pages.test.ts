/** Lists of many agents in PostgreSQL: the number of statements that they take. AGENTS=10000 measures them. */
import { spawn, spawnSync } from 'node:child_process'
import { randomUUID } from 'node:crypto'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { frame } from '../../src/storage/log/frame.js'
import { Postgres, RUN, whyNoPostgres } from '../support/postgres.js'
import { PostgresProxy } from '../support/postgres-proxy.js'

const AGENTS = Number(process.env.AGENTS ?? 300)
const PAGE = 256

describe.skipIf(whyNoPostgres() !== undefined)('a list of many agents in PostgreSQL', () => {
  let server: Postgres
  beforeAll(() => {
    server = new Postgres()
  })
  afterAll(() => server?.remove())

  /** A home with copies of an agent, each with a log and a current snapshot. */
  async function newHome(): Promise<string> {
    const home = await server.newHome()
    const run = (...argv: string[]) =>
      spawnSync(process.execPath, [RUN, ...argv], { env: server.environment(home) })
    run('spawn', '--name', 'notes', '--provider', 'scripted')
    run('send', 'notes', 'hello')
    run('recover', '--all')
    const client = await server.connect(home)
    const [agent] = (await client.query('select id, snapshot from substrat.agent')).rows
    const [log] = (
      await client.query(`select string_agg(bytes, '' order by first_byte) as bytes from substrat.batch`)
    ).rows
    const ids = Array.from({ length: AGENTS - 1 }, () => randomUUID())
    const renamed = (bytes: Buffer, id: string): Buffer => {
      const lines = bytes.toString().replaceAll(agent.id, id).split('\n').slice(0, -1)
      return Buffer.concat(lines.map((line) => frame({ ...JSON.parse(line), crc: undefined })))
    }
    await client.query(
      `with made as (select * from unnest($1::uuid[], $2::bytea[]) made (id, snapshot))
       insert into substrat.agent (id, log_bytes, snapshot, snapshot_log_bytes, snapshot_last_offset, created_by, ended_lease)
         select made.id, a.log_bytes, made.snapshot, a.snapshot_log_bytes, a.snapshot_last_offset, a.created_by, a.ended_lease
         from substrat.agent a, made`,
      [ids, ids.map((id) => renamed(agent.snapshot, id))],
    )
    await client.query(
      `insert into substrat.batch (agent_id, first_byte, batch_id, lease, bytes)
         select id, 0, gen_random_uuid(), id, bytes from unnest($1::uuid[], $2::bytea[]) made (id, bytes)`,
      [ids, ids.map((id) => renamed(log.bytes, id))],
    )
    await client.end()
    return home
  }

  /** The JSON of a command, and the calls that it took. */
  async function listed(home: string, ...argv: string[]) {
    const proxy = await PostgresProxy.before(server.directory)
    const began = performance.now()
    const child = spawn(process.execPath, [RUN, ...argv, '--json', '--all'], {
      env: { ...server.environment(home), SUBSTRAT_HOME: server.url(home, 'postgres', proxy.directory) },
      stdio: ['ignore', 'pipe', 'inherit'],
    })
    const chunks: Buffer[] = []
    child.stdout.on('data', (bytes) => chunks.push(bytes))
    await new Promise((resolve) => child.once('close', resolve))
    await proxy.close()
    const took = Math.round(performance.now() - began)
    if (process.env.AGENTS !== undefined)
      console.log(`${argv.join(' ')}: ${proxy.calls.length} calls, ${took} ms`)
    return { shown: JSON.parse(Buffer.concat(chunks).toString()), calls: proxy.calls }
  }

  /** As while turns run or after a crash: no snapshot covers the end of its log. */
  const OLD =
    'update substrat.agent set snapshot = null, snapshot_log_bytes = null, snapshot_last_offset = null'
  const MAIL = `insert into substrat.mail (recipient, message_id, state, changed_by, bytes)
    select id, gen_random_uuid(), 'pending', id, '' from substrat.agent`
  const MARKED = 'insert into substrat.marked select id from substrat.agent on conflict do nothing'

  test('list and tree read agents without a current snapshot by the page, and their inboxes too', async () => {
    const home = await newHome()
    const commands = ['list', 'tree']
    const current = []
    for (const command of commands) current.push(await listed(home, command))
    expect(current.map(({ calls }) => calls)).toEqual([['begin_command'], ['begin_command']])
    expect(current[0]?.shown.agents).toHaveLength(AGENTS)
    await server.query(home, MAIL)
    await server.query(home, MARKED)
    await server.query(home, OLD)
    const withMail = (shown: object): object =>
      JSON.parse(JSON.stringify(shown).replaceAll('"inbox":0', '"inbox":1'))
    for (const [index, command] of commands.entries()) {
      const { shown, calls } = await listed(home, command)
      // Whether an idle agent is scheduled, a message of its inbox says.
      const reads = calls.filter((name) => name === 'read_mail')
      expect(reads).toHaveLength(AGENTS)
      expect(calls.filter((name) => name !== 'read_mail')).toEqual([
        'begin_command',
        ...Array(Math.ceil(AGENTS / PAGE)).fill('open_agents'),
      ])
      expect(shown).toEqual(withMail(current[index]?.shown))
    }
  })
})
