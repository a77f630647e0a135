/** A home in PostgreSQL that has closed for a migration, or that is the target of one, and commands that had opened it before. */
import { createRequire } from 'node:module'
import path from 'node:path'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import * as kit from '../../src/storage/kit.js'
import type { StorePlugin } from '../../src/storage/plugin.js'
import { PLUGIN, Postgres, whyNoPostgres } from '../support/postgres.js'

const file = path.join(PLUGIN, 'dist/index.cjs')
const uuid = (n: number): string => `018f0000-0000-7000-8000-00000000000${n}`
const [AGENT, OTHER, MESSAGE, RUN_ID, MIGRATION] = [1, 2, 3, 4, 5].map(uuid) as [
  string,
  string,
  string,
  string,
  string,
]
const OPERATOR = '00000000-0000-0000-0000-000000000000'
const SNAPSHOT = { id: AGENT, last_offset: 0, log_bytes: 3, last_seq: 1, updated_at: '2026-01-01T00:00:00Z' }
const END = { agent_id: AGENT, last_seq: 1, last_offset: 0, log_bytes: 3, record_crc: '00000000' }
const birth = (agentId: string) => ({
  agentId,
  log: Buffer.from('{}\n'),
  snapshot: SNAPSHOT,
  blobs: [],
  command: 'substrat spawn',
})

describe.skipIf(whyNoPostgres() !== undefined)('a home in PostgreSQL', () => {
  const plugin = createRequire(file)(file) as StorePlugin
  let server: Postgres
  beforeAll(() => {
    server = new Postgres()
  })
  afterAll(() => server?.remove())

  /** Everything but the ends of rights, which holders renew. */
  async function content(home: string): Promise<unknown> {
    const client = await server.connect(home)
    const tablesIn =
      "select tablename from pg_tables where schemaname = 'substrat' and tablename not in ('hold', 'edge')"
    const names = (await client.query(tablesIn)).rows.map((row) => row.tablename as string)
    const rows = (name: string) =>
      `select '${name}' as name, (to_jsonb(t) - 'expires_at')::text as row from substrat.${name} t`
    const found = await client.query(`${names.map(rows).join(' union all ')} order by 1, 2`)
    await client.end()
    return found.rows
  }

  test('that has closed refuses each change of a holder and of others, and keeps its content', async () => {
    const home = await server.newHome()
    const store = plugin.open(kit, server.url(home), undefined)
    const lease = await store.create(birth(AGENT))
    const names = store.names(null)
    const lock = await names.lock('substrat spawn')
    names.reserve('lead', AGENT)
    store.mail.put(AGENT, MESSAGE, { id: MESSAGE })
    store.mail.put(OPERATOR, MESSAGE, { id: MESSAGE })
    store.requests.put(AGENT, RUN_ID, 'suspend')
    const transfer = plugin.transfer(kit, server.url(home), undefined)
    const closed = transfer.closeFor({ id: MIGRATION, state: 'leaving', other: '/elsewhere' })
    expect(closed.isHeld(AGENT)).toBe(true)
    const before = await content(home)
    const batch = { id: OTHER, offset: 3, bytes: Buffer.from('{}\n'), blobs: [], isUpgrade: false }
    const { mail, upkeep, requests, visits, hosts, moves, keys } = store
    const host = { kernel_boot_id: 'b', host: 'h', declared_at: '2026-01-01T00:00:00Z' }
    const changes: Record<string, () => unknown> = {
      append: () => lease.append(batch),
      'end a turn': () => lease.endTurn?.(batch, { mailIds: [MESSAGE], snapshot: SNAPSHOT }),
      repair: () => lease.repair({ synced: 0, end: 0, openRunId: null }),
      writeBlob: () => lease.writeBlob(Buffer.from('x')),
      rest: () => lease.rest({ snapshot: SNAPSHOT, needsVisit: false }),
      take: () => store.take(AGENT, { command: 'substrat send', waitMs: 0 }),
      create: () => store.create(birth(OTHER)),
      remove: () => store.remove(AGENT, lease),
      reserve: () => names.reserve('other', AGENT),
      forget: () => names.forget('lead'),
      put: () => mail.put(AGENT, OTHER, { id: OTHER }),
      'put to the operator': () => mail.put(OPERATOR, OTHER, { id: OTHER }),
      'remove mail': () => mail.remove(AGENT, MESSAGE),
      'take mail': () => mail.take(MESSAGE),
      'forget taken mail': () => mail.forgetTaken(Date.now(), false),
      request: () => requests.put(AGENT, OTHER, 'cancel'),
      'remove a request': () => requests.remove(AGENT, RUN_ID, 'suspend'),
      mark: () => visits.mark(AGENT),
      declare: () => hosts.declare(host as never),
      'add a move': () => moves.add(OTHER, [OTHER]),
      'write keys': () =>
        keys.write(END, { added: new Map(), kept: { minuteMin: 0, keysMin: 0, keptMinutes: 0 } }),
      'write settings': () => store.writeConfig('{}'),
      'clear the snapshot': () => upkeep.clearSnapshot(AGENT),
      'replace the log': () => upkeep.replaceLog(AGENT, Buffer.from('{}\n'), SNAPSHOT as never),
    }
    const passed: string[] = []
    for (const [name, change] of Object.entries(changes)) {
      try {
        await change()
        passed.push(name)
      } catch (error) {
        expect(error, name).toMatchObject({
          code: 'HOME_UNUSABLE',
          message: expect.stringContaining('migration'),
        })
      }
      expect(await content(home), name).toEqual(before)
    }
    expect(passed).toEqual([])
    await lease.release()
    await lock.release()
    expect(transfer.store().isHeld(AGENT)).toBe(false)
  })

  test('that is the target of a migration refuses the agent of a command that had opened it before', async () => {
    const home = await server.newHome()
    const store = plugin.open(kit, server.url(home), undefined)
    const transfer = plugin.transfer(kit, server.url(home), undefined)
    transfer.arrive(uuid(9), { id: MIGRATION, state: 'arriving', other: '/elsewhere' })
    await expect(store.create(birth(AGENT))).rejects.toMatchObject({ code: 'HOME_UNUSABLE' })
    const lease = await transfer.store().create({ ...birth(OTHER), command: 'substrat migrate' })
    await lease.release()
    expect(transfer.store().agentIds()).toEqual([OTHER])
    transfer.discard()
    expect(transfer.facts()).toMatchObject({ isEmpty: true, migration: undefined })
  })

  test('that another migrate has opened refuses each change of one that was stopped meanwhile', async () => {
    const home = await server.newHome()
    const transfer = plugin.transfer(kit, server.url(home), undefined)
    const stopped = transfer.arrive(uuid(9), { id: MIGRATION, state: 'arriving', other: '/elsewhere' })
    await (await stopped.create({ ...birth(OTHER), command: 'substrat migrate' })).release()
    await server.query(home, 'select substrat.open_home($1)', [MIGRATION])
    const before = await content(home)
    const host = { kernel_boot_id: 'b', host: 'h', declared_at: '2026-01-01T00:00:00Z' }
    const changes: Record<string, () => unknown> = {
      create: () => stopped.create({ ...birth(AGENT), command: 'substrat migrate' }),
      put: () => stopped.mail.put(OTHER, MESSAGE, { id: MESSAGE }),
      settings: () => stopped.writeConfig('{}'),
      'the lock of the names': () => stopped.names(null).lock('substrat migrate'),
      declare: () => stopped.hosts.declare(host as never),
      'mail that was taken': () =>
        transfer.writeKept({
          taken: [{ messageId: MESSAGE, message: {}, takenMs: 1 }],
          moves: [],
          removed: [],
        }),
    }
    for (const [name, change] of Object.entries(changes)) {
      await expect(async () => change(), name).rejects.toMatchObject({ code: 'HOME_UNUSABLE' })
      expect(await content(home), name).toEqual(before)
    }
    transfer.open()
    expect(await content(home)).toEqual(before)
  })

  test('without an agent, but with settings or mail, is not an empty target', async () => {
    const home = await server.newHome()
    const transfer = plugin.transfer(kit, server.url(home), undefined)
    expect(transfer.facts()?.isEmpty).toBe(true)
    plugin.open(kit, server.url(home), undefined).writeConfig('{}')
    expect(transfer.facts()?.isEmpty).toBe(false)
    expect(() => transfer.arrive(uuid(9), { id: MIGRATION, state: 'arriving', other: '/x' })).toThrow()
  })
})
