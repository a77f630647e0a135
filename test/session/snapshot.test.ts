import { randomUUID } from 'node:crypto'
import { readFileSync, rmSync, truncateSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { beforeEach, describe, expect, test } from 'vitest'
import { openForRead } from '../../src/session/load.js'
import { SNAPSHOT_VERSION, snapshotOf } from '../../src/session/snapshot.js'
import type { State } from '../../src/session/state.js'
import type { FileStore } from '../../src/storage/file-store.js'
import { frame, unframe } from '../../src/storage/log/frame.js'
import { withFaults } from '../support/faults.js'
import { appendTurn, newSession, reopen } from '../support/sessions.js'
import { encodeSnapshot } from '../support/snapshots.js'
import { tempStore } from '../support/temp.js'

let store: FileStore
let id: string
let logPath: string
let snapshotPath: string
/** The state that the whole log gives. */
let truth: State

beforeEach(async () => {
  store = tempStore()
  const session = await newSession(store, { name: 'a' })
  id = session.id
  logPath = store.local.logPath(id)
  snapshotPath = join(dirname(logPath), 'session.json')
  for (const word of ['one', 'two', 'three']) appendTurn(session, word, `echo: ${word}`)
  truth = session.state
  await session.close(() => false)
})

function snapshotSays(): Record<string, unknown> {
  const line = unframe(readFileSync(snapshotPath).subarray(0, -1))
  return 'damage' in line ? {} : line.object
}

/** The snapshot with changed fields and a matching checksum. */
function altered(changes: object): Buffer {
  const { crc: _, ...fields } = snapshotSays()
  return frame({ ...fields, ...changes })
}

/** The state in the next session, which writes only the snapshot. */
async function visited(): Promise<State> {
  const session = await reopen(store, id)
  const { state } = session
  await session.close(() => false)
  return state
}

test('a clean close leaves a snapshot of the whole log', () => {
  expect(snapshotSays()).toMatchObject({ snapshot: SNAPSHOT_VERSION, id, last_seq: truth.last_seq })
  expect(readFileSync(snapshotPath)).toEqual(encodeSnapshot(truth, readFileSync(logPath)))
})

describe('a snapshot is rebuilt by the next writer, and not by a reader, if it', () => {
  const bytes = (): Buffer => readFileSync(snapshotPath)
  const flipped = (at: number): Buffer => {
    const copy = Buffer.from(bytes())
    copy[at] = (copy[at] as number) ^ 1
    return copy
  }
  const CASES: [string, () => Buffer | undefined][] = [
    ['is missing', () => undefined],
    ['is empty', () => Buffer.alloc(0)],
    ['is cut short', () => bytes().subarray(0, 100)],
    ['lacks its last byte', () => bytes().subarray(0, -1)],
    ['contains only NUL bytes', () => Buffer.alloc(500)],
    ['has a flipped byte', () => flipped(40)],
    ['is not JSON', () => Buffer.from('hello\n')],
    ['is from another version of the fold', () => altered({ snapshot: SNAPSHOT_VERSION + 1 })],
    ['belongs to another agent', () => altered({ id: randomUUID() })],
    ['names another last record', () => altered({ last_seq: truth.last_seq - 1 })],
    ['ends inside a record', () => altered({ log_bytes: truth.log_bytes - 1 })],
    ['names a wrong start of its last record', () => altered({ last_offset: truth.last_offset + 1 })],
    ['ends before its last record starts', () => altered({ log_bytes: 0, last_offset: 10 })],
    ['has an offset that is a string', () => altered({ log_bytes: '99999999' })],
    ['has a negative offset', () => altered({ last_offset: -5, log_bytes: 10 })],
  ]

  test.each(CASES)('%s', async (_, spoiled) => {
    const replacement = spoiled()
    if (replacement === undefined) rmSync(snapshotPath)
    else writeFileSync(snapshotPath, replacement)
    expect(openForRead(store, id)?.state).toEqual(truth)
    if (replacement !== undefined) expect(readFileSync(snapshotPath)).toEqual(replacement)
    expect(await visited()).toEqual(truth)
    expect(readFileSync(snapshotPath)).toEqual(encodeSnapshot(truth))
  })
})

test('an older snapshot is trusted up to its end, and the rest is read from the log', async () => {
  const older = readFileSync(snapshotPath)
  const session = await reopen(store, id)
  appendTurn(session, 'four', 'echo: four')
  const newer = session.state
  await session.close(() => false)
  writeFileSync(snapshotPath, older)
  expect(openForRead(store, id)).toMatchObject({ state: newer, snapshotBytes: truth.log_bytes })
  expect(await visited()).toEqual(newer)
  expect(readFileSync(snapshotPath)).toEqual(encodeSnapshot(newer))
})

describe('damage to records that the snapshot covers', () => {
  test('is reported as CORRUPT if records are missing, and nothing is changed', async () => {
    const snapshot = readFileSync(snapshotPath)
    truncateSync(logPath, truth.log_bytes - 10)
    const log = readFileSync(logPath)
    const refused = { code: 'CORRUPT', message: expect.stringContaining('records are missing') }
    expect(() => openForRead(store, id)).toThrow(expect.objectContaining(refused))
    await expect(reopen(store, id)).rejects.toMatchObject(refused)
    expect(readFileSync(logPath)).toEqual(log)
    expect(readFileSync(snapshotPath)).toEqual(snapshot)
    expect(store.isHeld(id)).toBe(false)
  })

  test('is not a truncated tail, even in the last record', async () => {
    const log = readFileSync(logPath)
    log[log.length - 40] = (log[log.length - 40] as number) ^ 1
    writeFileSync(logPath, log)
    const facts = { path: logPath, seq: truth.last_seq - 4 }
    await expect(reopen(store, id)).rejects.toMatchObject({ code: 'CORRUPT', facts })
    expect(() => openForRead(store, id)).toThrow(expect.objectContaining({ code: 'CORRUPT' }))
    expect(readFileSync(logPath)).toEqual(log)
  })

  test('may be a truncated tail if the snapshot is missing, and only the last batch is cut', async () => {
    const log = readFileSync(logPath)
    log[log.length - 40] = (log[log.length - 40] as number) ^ 1
    writeFileSync(logPath, log)
    rmSync(snapshotPath)
    expect((await visited()).last_seq).toBe(truth.last_seq - 5)
    expect(log.subarray(0, readFileSync(logPath).length)).toEqual(readFileSync(logPath))
  })
})

test('a reader beside a writer never mistakes its newer snapshot for lost records', async () => {
  const session = await reopen(store, id)
  let isWriting = false
  withFaults(({ point, path }) => {
    // Appends between the reads of the snapshot and of the log.
    const isReader = !isWriting && (point === 'snapshot.read' || point === 'log.open') && path.includes(id)
    if (!isReader) return undefined
    isWriting = true
    appendTurn(session, 'meanwhile', 'echo: meanwhile')
    store.snapshots.write(id, snapshotOf(session.state))
    isWriting = false
    return undefined
  })
  const seen = openForRead(store, id)?.state
  expect(seen?.last_seq).toBeGreaterThanOrEqual(truth.last_seq)
  // The writer appended before each of three steps: open the snapshot, read it, open the log.
  expect(session.state.last_seq).toBe(truth.last_seq + 3 * 10)
  await session.abandon()
})
