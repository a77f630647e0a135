/** Damage to synced records, which the snapshot covers. */
import { readFileSync, truncateSync, writeFileSync } from 'node:fs'
import { beforeEach, describe, expect, onTestFinished, test } from 'vitest'
import { readLog } from '../../src/operations/read-log.js'
import { openForRead, recordsFrom, recordsOfKinds } from '../../src/session/load.js'
import type { FileStore } from '../../src/storage/file-store.js'
import type { OpenedLog } from '../../src/storage/store.js'
import { appendTurn, newSession, reopen } from '../support/sessions.js'
import { tempStore } from '../support/temp.js'

let store: FileStore
let id: string
let logPath: string

beforeEach(async () => {
  store = tempStore()
  const session = await newSession(store, { name: 'a' })
  id = session.id
  logPath = store.local.logPath(id)
  for (let turn = 0; turn < 60; turn++) appendTurn(session, `${turn}`, 'x'.repeat(500))
  await session.close(() => false)
})

function flip(at: number): void {
  const bytes = readFileSync(logPath)
  bytes[at] = (bytes[at] as number) ^ 1
  writeFileSync(logPath, bytes)
}

const size = (): number => readFileSync(logPath).length
const read = (): Promise<void> =>
  readLog(
    store,
    {
      agentId: id,
      last: undefined,
      filter: () => () => true,
      follow: false,
      untilIdle: false,
      isRead: () => true,
    },
    () => undefined,
  )

describe('a writer', () => {
  test.each([100, 5000, -1])(
    'appends nothing to a log that is damaged at byte %d (-1: near the end)',
    async (at) => {
      flip(at < 0 ? size() - 100 : at)
      const before = readFileSync(logPath)
      await expect(reopen(store, id)).rejects.toMatchObject({ code: 'CORRUPT', facts: { path: logPath } })
      expect(readFileSync(logPath).equals(before)).toBe(true)
    },
  )
})

describe('a reader', () => {
  test('reports damage near the end when it reads the state', () => {
    flip(size() - 2000)
    expect(() => openForRead(store, id)).toThrow(/is damaged at byte \d+, record \d+/)
  })

  test('reports damage anywhere when it reads the log', async () => {
    flip(100)
    expect(openForRead(store, id)?.state.last_seq).toBeGreaterThan(100)
    await expect(read()).rejects.toMatchObject({ code: 'CORRUPT', facts: { seq: 1 } })
  })

  test('reports a log that was cut off instead of accepting its beginning', async () => {
    truncateSync(logPath, 400)
    await expect(read()).rejects.toMatchObject({ code: 'CORRUPT', facts: { path: logPath } })
  })

  test('fails at damage in the part that it reads instead of stopping before it', () => {
    flip(size() - 5000)
    const log = store.openLog(id) as OpenedLog
    expect(() => [...recordsFrom(log, { seq: 1, offset: 0 })]).toThrow(/is damaged at byte \d+, record \d+/)
    log.close()
  })

  test('of some kinds of records fails at damage in a record of any kind', () => {
    const ended = readFileSync(logPath).indexOf('"kind":"session.suspended"')
    flip(ended + 3)
    const log = store.openLog(id) as OpenedLog
    onTestFinished(() => log.close())
    const read = () => [...recordsOfKinds(log, { seq: 1, offset: 0 }, log.size(), ['message.user'])]
    expect(read).toThrow(/is damaged at byte \d+, record \d+: its checksum is wrong/)
  })

  test('treats no damage before a settled end as a truncated tail', () => {
    const end = size()
    truncateSync(logPath, end - 10)
    const log = store.openLog(id) as OpenedLog
    const all = (settled: number): number =>
      [...recordsFrom(log, { seq: 1, offset: 0 }, undefined, settled)].length
    expect(all(0)).toBeGreaterThan(100)
    expect(() => all(end)).toThrow(/is damaged at byte/)
    log.close()
  })
})
