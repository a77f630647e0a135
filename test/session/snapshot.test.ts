import { randomUUID } from 'node:crypto'
import { readFileSync, rmSync, truncateSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { beforeEach, describe, expect, test } from 'vitest'
import { openForRead } from '../../src/session/load.js'
import { SNAPSHOT_VERSION, snapshotOf } from '../../src/session/snapshot.js'
import type { State } from '../../src/session/state.js'
import { frame, unframe } from '../../src/storage/log/frame.js'
import type { FileStore } from '../../src/storage/store.js'
import { withFaults } from '../support/faults.js'
import { appendTurn, newSession, reopen } from '../support/sessions.js'
import { encodeSnapshot } from '../support/snapshots.js'
import { tempStore } from '../support/temp.js'

let store: FileStore
let id: string
let logPath: string
let snapshotPath: string
/** What the whole log says. */
let truth: State

beforeEach(async () => {
  store = tempStore()
  const session = await newSession(store, { name: 'a' })
  id = session.id
  logPath = store.logPath(id)
  snapshotPath = join(dirname(logPath), 'session.json')
  for (const word of ['one', 'two', 'three']) appendTurn(session, word, `echo: ${word}`)
  truth = session.state
  await session.close(() => false)
})

function snapshotSays(): Record<string, unknown> {
  const line = unframe(readFileSync(snapshotPath).subarray(0, -1))
  return 'damage' in line ? {} : line.object
}

/** The snapshot with some of its fields otherwise, and a checksum that fits. */
function altered(changes: object): Buffer {
  const { crc: _, ...fields } = snapshotSays()
  return frame({ ...fields, ...changes })
}

/** By the next writer, which has nothing to write but the snapshot. */
async function visited(): Promise<State> {
  const session = await reopen(store, id)
  const { state } = session
  await session.close(() => false)
  return state
}

test('a clean end leaves a snapshot of all that is in the log', () => {
  expect(snapshotSays()).toMatchObject({ snapshot: SNAPSHOT_VERSION, id, last_seq: truth.last_seq })
  expect(readFileSync(snapshotPath)).toEqual(encodeSnapshot(truth))
})

describe('a snapshot that is not to be trusted is rebuilt by the next writer, and not by a reader', () => {
  const bytes = (): Buffer => readFileSync(snapshotPath)
  const flipped = (at: number): Buffer => {
    const copy = Buffer.from(bytes())
    copy[at] = (copy[at] as number) ^ 1
    return copy
  }
  const CASES: [string, () => Buffer | undefined][] = [
    ['missing', () => undefined],
    ['empty', () => Buffer.alloc(0)],
    ['cut short', () => bytes().subarray(0, 100)],
    ['without its last byte', () => bytes().subarray(0, -1)],
    ['of NUL bytes', () => Buffer.alloc(500)],
    ['with a flipped byte', () => flipped(40)],
    ['no JSON', () => Buffer.from('hello\n')],
    ['of another version of the fold', () => altered({ snapshot: SNAPSHOT_VERSION + 1 })],
    ['of another agent', () => altered({ id: randomUUID() })],
    ['whose record is another one', () => altered({ last_seq: truth.last_seq - 1 })],
    ['whose end is no end of a record', () => altered({ log_bytes: truth.log_bytes - 1 })],
    ['whose record begins elsewhere', () => altered({ last_offset: truth.last_offset + 1 })],
    ['whose end is before its beginning', () => altered({ log_bytes: 0, last_offset: 10 })],
    ['that names a place in words', () => altered({ log_bytes: '99999999' })],
    ['that names a place before the log', () => altered({ last_offset: -5, log_bytes: 10 })],
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

test('an older snapshot is trusted as far as it goes, and the rest is read from the log', async () => {
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

describe('what a snapshot says was synced', () => {
  test('is missed where the log is shorter: corruption, and nothing is changed', async () => {
    const snapshot = readFileSync(snapshotPath)
    truncateSync(logPath, truth.log_bytes - 10)
    const log = readFileSync(logPath)
    const refused = { code: 'CORRUPT', message: expect.stringContaining('records are missing') }
    expect(() => openForRead(store, id)).toThrow(expect.objectContaining(refused))
    await expect(reopen(store, id)).rejects.toMatchObject(refused)
    expect(readFileSync(logPath)).toEqual(log)
    expect(readFileSync(snapshotPath)).toEqual(snapshot)
    expect(store.isAgentHeld(id)).toBe(false)
  })

  test('is no torn tail when its last record is damaged', async () => {
    const log = readFileSync(logPath)
    log[log.length - 40] = (log[log.length - 40] as number) ^ 1
    writeFileSync(logPath, log)
    const facts = { path: logPath, seq: truth.last_seq - 3 }
    await expect(reopen(store, id)).rejects.toMatchObject({ code: 'CORRUPT', facts })
    expect(() => openForRead(store, id)).toThrow(expect.objectContaining({ code: 'CORRUPT' }))
    expect(readFileSync(logPath)).toEqual(log)
  })

  test('without a snapshot the same damage may be a torn tail: the last batch alone is cut, and kept', async () => {
    const log = readFileSync(logPath)
    log[log.length - 40] = (log[log.length - 40] as number) ^ 1
    writeFileSync(logPath, log)
    rmSync(snapshotPath)
    expect((await visited()).last_seq).toBe(truth.last_seq - 4)
    expect(log.subarray(0, readFileSync(logPath).length)).toEqual(readFileSync(logPath))
  })
})

test('a reader that meets a writer never takes its newer snapshot for lost records', async () => {
  const session = await reopen(store, id)
  let isWriting = false
  withFaults(({ point, path }) => {
    // In the moment between the two things that a reader reads.
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
  // Once before each of the three: the snapshot opened, the snapshot read, the log opened.
  expect(session.state.last_seq).toBe(truth.last_seq + 3 * 8)
  await session.abandon()
})
