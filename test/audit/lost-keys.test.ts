/** A damaged log whose key index is damaged too. The rebuild carries over every intact page of the index. */
import { existsSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { checkAgent } from '../../src/audit/check-agent.js'
import type { Finding } from '../../src/audit/finding.js'
import { rebuildLog } from '../../src/audit/rebuild-log.js'
import { hashOfKey } from '../../src/session/key-hashes.js'
import { findKey } from '../../src/session/key-index.js'
import { placesInLog } from '../../src/session/key-places.js'
import { openForRead } from '../../src/session/load.js'
import type { State } from '../../src/session/state.js'
import { FileStore } from '../../src/storage/file-store.js'
import { appendKeyedTurns, keyedTurn } from '../support/aged.js'
import { EVERY_KEY } from '../support/keys.js'
import { isSync, recordOperations } from '../support/operations.js'
import { newAgent, reopen } from '../support/sessions.js'
import { tempStore } from '../support/temp.js'

const PAGE_BYTES = 4096
const PAGE_ENTRIES = 127
const options = { command: 'test', note: () => undefined }

interface Aged {
  store: FileStore
  id: string
  keys: string[]
  index: string
}

async function aged(count: number): Promise<Aged> {
  const store = tempStore()
  const id = await newAgent(store)
  const keys = Array.from({ length: count }, (_, index) => `key ${index}`)
  appendKeyedTurns(store, id, keys.slice(1))
  const session = await reopen(store, id)
  for (const batch of keyedTurn(keys[0])) session.append(batch)
  await session.close(() => false)
  return { store, id, keys, index: join(dirname(store.local.logPath(id)), 'keys') }
}

/** Overwrites the log after its first `share` with NUL bytes. Only the snapshot and the index still cover that part. */
function loseBehind({ store, id }: Aged, share: number): void {
  const log = readFileSync(store.local.logPath(id))
  writeFileSync(store.local.logPath(id), log.fill(0, Math.floor(log.length * share)))
}

function change(path: string, edit: (bytes: Buffer, headBytes: number) => Buffer | undefined): void {
  const bytes = readFileSync(path)
  writeFileSync(path, edit(bytes, bytes.indexOf('\n') + 1) ?? bytes)
}

const damagePage = (page: number) => (bytes: Buffer, headBytes: number) => {
  bytes.fill(0xff, headBytes + page * PAGE_BYTES + 100, headBytes + page * PAGE_BYTES + 164)
  return undefined
}

/** The keys whose hashes are on that page. */
function keysOnPage({ index, keys }: Aged, page: number): Set<string> {
  const bytes = readFileSync(index)
  const start = bytes.indexOf('\n') + 1 + page * PAGE_BYTES
  const hashes = new Set(
    Array.from({ length: PAGE_ENTRIES }, (_, n) =>
      bytes.toString('hex', start + n * 32, start + n * 32 + 16),
    ),
  )
  return new Set(keys.filter((key) => hashes.has(hashOfKey(key))))
}

/** The keys that are new to the next command. Checks each of them, and a sample of the others, with findKey too. */
function unknown({ store, id, keys }: Aged, from = keys): string[] {
  const next = FileStore.openForWrite(store.address)
  const state = openForRead(next, id)?.state as State
  const log = next.openLog(id)
  const places = placesInLog(next, id, log as NonNullable<typeof log>, state.log_bytes)
  log?.close()
  const isNew = from.filter((key) => !places.has(hashOfKey(key)))
  const sample = from.filter((key, index) => index % Math.ceil(from.length / 50) === 0 || isNew.includes(key))
  expect(sample.filter((key) => findKey(next, state, key) === undefined)).toEqual(
    sample.filter((key) => isNew.includes(key)),
  )
  return isNew
}

function findings({ store, id }: Aged): string[] {
  const found: Finding[] = []
  checkAgent(store, id, found)
  return found.map(({ invariant }) => invariant).filter((invariant) => /key|blob|log/.test(invariant))
}

/** Adds this many keys to the index, all of them at the end of the log, which the test then destroys. */
function withMoreKeys({ store, id, keys }: Aged, count: number): string[] {
  const more = Array.from({ length: count }, (_, index) => `more ${index}`)
  const index = store.keys.open(id)
  const [end, entries] = [index?.end, index?.entries()]
  index?.close()
  if (end === undefined || entries === undefined) throw new Error('there is an index')
  const place = { seq: end.last_seq, offset: end.last_offset, minute: entries.readUInt32BE(28) }
  const places = new Map(more.map((key) => [hashOfKey(key), place]))
  store.keys.write(end, { known: entries, added: places, kept: EVERY_KEY })
  return [...keys, ...more]
}

test('after the loss of half a log with 50,000 keys, only keys of the damaged index page can be new', async () => {
  const small = await aged(400)
  const all = { ...small, keys: withMoreKeys(small, 49_600) }
  const bad = keysOnPage(all, 200)
  expect(bad.size).toBe(PAGE_ENTRIES)
  change(all.index, damagePage(200))
  loseBehind(all, 0.5)
  const told = await rebuildLog(all.store, all.id, options)
  const lost = unknown(all)
  expect(lost.length).toBeGreaterThan(PAGE_ENTRIES / 2)
  expect(lost.filter((key) => !bad.has(key))).toEqual([])
  expect(told).toContain(`up to ${lost.length} keys are lost`)
  // The next message with a key rebuilds this index, which belongs to the lost log.
  expect(findings(all)).toEqual(['a key index is intact'])
})

describe('after the loss of the later part of a log,', () => {
  const CASES: [string, (bytes: Buffer, headBytes: number) => Buffer | undefined][] = [
    ['intact', () => undefined],
    ['damaged in its header, except for the checksum', (bytes) => bytes.fill(0x20, 3, 20)],
    ['longer than its header says', (bytes) => Buffer.concat([bytes, Buffer.alloc(500)])],
  ]
  test.each(CASES)('no key is new if the index is %s', async (_, edit) => {
    const all = await aged(400)
    change(all.index, edit)
    loseBehind(all, 0.3)
    expect(await rebuildLog(all.store, all.id, options)).not.toContain('carried over')
    expect(unknown(all)).toEqual([])
  })

  test('the keys on missing index pages are counted, and the other pages are carried over', async () => {
    const all = await aged(400)
    const kept = keysOnPage(all, 0)
    change(all.index, (bytes, headBytes) => bytes.subarray(0, headBytes + PAGE_BYTES))
    loseBehind(all, 0.3)
    const told = await rebuildLog(all.store, all.id, options)
    const lost = unknown(all)
    expect(lost.filter((key) => kept.has(key))).toEqual([])
    const most = Number(/up to (\d+) keys/.exec(told ?? '')?.[1])
    // The snapshot still has the latest keys.
    expect(most).toBe(lost.length)
  })

  test('the index of another agent is ignored', async () => {
    const [all, other] = [await aged(200), await aged(300)]
    writeFileSync(all.index, readFileSync(other.index))
    loseBehind(all, 0.3)
    await rebuildLog(all.store, all.id, options)
    expect(unknown(all, ['key 250', 'key 299'])).toEqual(['key 250', 'key 299'])
  })

  test('carried-over keys survive the loss of the new index and new damage to the log', async () => {
    const small = await aged(200)
    const all = { ...small, keys: withMoreKeys(small, 7800) }
    loseBehind(all, 0)
    await rebuildLog(all.store, all.id, options)
    rmSync(all.index)
    const sample = all.keys.filter((_, index) => index % 400 === 0)
    expect(unknown(all, sample)).toEqual([])
    const session = await reopen(FileStore.openForWrite(all.store.address), all.id)
    for (const batch of keyedTurn('after')) session.append(batch)
    await session.close(() => false)
    const log = readFileSync(all.store.local.logPath(all.id))
    // Damages only the first record. `session.rebuilt` is a later record and stays intact.
    writeFileSync(all.store.local.logPath(all.id), log.fill(0, 10, 20))
    await rebuildLog(all.store, all.id, options)
    expect(unknown(all, [...sample, 'after'])).toEqual([])
  })
})

test('a rebuild syncs the key index, which alone has some keys, before it replaces the damaged log', async () => {
  const all = await aged(200)
  loseBehind(all, 0.3)
  const steps = recordOperations()
  await rebuildLog(all.store, all.id, options)
  const synced = steps.findIndex((step) => isSync(step) && step.path === all.index)
  expect(synced).toBeGreaterThanOrEqual(0)
  expect(synced).toBeLessThan(steps.findIndex(({ point }) => point === 'aside.sync_directory'))
  expect(existsSync(all.index)).toBe(true)
})
