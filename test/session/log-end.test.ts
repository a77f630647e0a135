/** The checksum of the log's end in a snapshot, which saves the next writer the check of each line. */
import { readFileSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { beforeEach, describe, expect, test } from 'vitest'
import { limits } from '../../src/limits.js'
import { openForRead } from '../../src/session/load.js'
import type { Session } from '../../src/session/session.js'
import type { State } from '../../src/session/state.js'
import type { FileStore } from '../../src/storage/file-store.js'
import { frame, unframeFile } from '../../src/storage/log/frame.js'
import type { OpenedAgent } from '../../src/storage/store.js'
import { MemoryStore } from '../support/memory-store/memory-store.js'
import { appendTurn, newSession, reopen } from '../support/sessions.js'
import { endChecksum } from '../support/snapshots.js'
import { tempDirectory, tempStore } from '../support/temp.js'

const RANGE = limits.logCheckedForAppendBytes
const LONG = 'x'.repeat(20_000)

let store: FileStore
let id: string
let logPath: string
let snapshotPath: string

beforeEach(async () => {
  store = tempStore()
  const session = await newSession(store, { name: 'a' })
  id = session.id
  logPath = store.local.logPath(id)
  snapshotPath = join(dirname(logPath), 'session.json')
  await session.close(() => false)
})

const log = (): Buffer => readFileSync(logPath)

function snapshotFields(): Record<string, unknown> {
  const line = unframeFile(readFileSync(snapshotPath))
  return 'damage' in line ? {} : line.object
}

const checksum = (): unknown => snapshotFields().log_crc

/** The snapshot has another checksum of the log's end from now on, or none. */
function replaceChecksum(log_crc: unknown): void {
  const { crc: _, ...fields } = snapshotFields()
  writeFileSync(snapshotPath, frame({ ...fields, log_crc }))
}

function flip(at: number): void {
  const bytes = log()
  bytes[at] = (bytes[at] as number) ^ 1
  writeFileSync(logPath, bytes)
}

async function inSession(act: (session: Session) => void): Promise<State> {
  const session = await reopen(store, id)
  act(session)
  const { state } = session
  await session.close(() => false)
  return state
}

const turn = (answer: string): Promise<State> => inSession((session) => void appendTurn(session, 'q', answer))
/** A batch that is shorter than a line of `LONG`. */
const retitle = (title: string): Promise<State> =>
  inSession((session) => void session.append([{ kind: 'session.configured', title }]))
/** In one session, because each reads the inbox, and syncs the snapshot. */
const longTurns = (count: number): Promise<State> =>
  inSession((session) => {
    for (let index = 0; index < count; index++) appendTurn(session, `${index}`, LONG)
  })

describe('the checksum in the snapshot of a clean close', () => {
  test('is that of the whole log, if the log is short', async () => {
    for (const word of ['one', 'two', 'three']) {
      await turn(word)
      expect(checksum()).toBe(endChecksum(log()))
    }
    expect(log().length).toBeLessThan(RANGE)
  })

  test('is that of the last 256 KiB, if the log is long, however many turns a session has', async () => {
    for (const count of [1, 12, 3, 30, 1, 1]) {
      await longTurns(count)
      expect(checksum()).toBe(endChecksum(log()))
    }
    expect(log().length).toBeGreaterThan(3 * RANGE)
  })

  test('includes the batch that ends a turn together with its visit', async () => {
    const remote = new MemoryStore(tempDirectory())
    const session = await newSession(remote, { name: 'a' })
    const isLast = session.appendEnd([{ kind: 'session.configured', title: 'b' }], () => true)
    await session.close(() => false)
    const opened = remote.open(session.id) as OpenedAgent
    const { snapshot, log: written } = opened
    expect([isLast, snapshot]).toEqual([
      true,
      {
        object: expect.objectContaining({
          title: 'b',
          log_crc: endChecksum(written.read(0, written.size())),
        }),
      },
    ])
  })

  test('is absent while a part of a line in its range is unchecked, and then complete again', async () => {
    await longTurns(20)
    // The range then begins within a long line.
    await retitle('t'.repeat(5000))
    const from = log().length - RANGE
    expect(log().indexOf('\n', from) - from).toBeGreaterThan(5000)
    replaceChecksum(undefined)
    await retitle('a')
    expect(checksum()).toBeUndefined()
    await turn(LONG)
    expect(checksum()).toBe(endChecksum(log()))
    // Only the known checksum covers the line at the beginning of the range.
    await retitle('b')
    expect(checksum()).toBe(endChecksum(log()))
  })

  test('is absent after a recovery that read records behind the snapshot, and not after the next turn', async () => {
    const session = await reopen(store, id)
    appendTurn(session, 'q', 'unfinished')
    await session.abandon()
    await retitle('recovered')
    expect(checksum()).toBeUndefined()
    await retitle('again')
    expect(checksum()).toBe(endChecksum(log()))
  })
})

describe('a writer', () => {
  test.each([
    ['of an earlier end of the log', async () => ({ crc: checksum(), ...(await retitle('b')) }).crc],
    ['of another log', () => endChecksum(Buffer.from('another'))],
    ['that is malformed', () => 'ABC'],
    ['that is not a text', () => ({ from: 0 })],
    ['that is missing', () => undefined],
  ])('opens a good log, and refuses a damaged one, with a checksum %s', async (_, wrong) => {
    await longTurns(3)
    replaceChecksum(await wrong())
    const { title } = await retitle('c')
    expect(title).toBe('c')
    expect(checksum()).toBe(endChecksum(log()))
    replaceChecksum(await wrong())
    flip(100)
    const before = log()
    await expect(reopen(store, id)).rejects.toMatchObject({ code: 'CORRUPT', facts: { path: logPath } })
    expect(log().equals(before)).toBe(true)
  })

  test('refuses a log that is damaged anywhere in the whole lines of the last 256 KiB', async () => {
    await longTurns(20)
    const good = log()
    const first = good.indexOf('\n', good.length - RANGE) + 1
    for (const at of [first, first + 5000, good.length - RANGE / 2, good.length - 300]) {
      flip(at)
      await expect(reopen(store, id)).rejects.toMatchObject({ code: 'CORRUPT' })
      writeFileSync(logPath, good)
    }
    expect((await retitle('intact')).title).toBe('intact')
  })
})

test('the checksum does not become a field of the state', async () => {
  await turn('one')
  expect(checksum()).toBeDefined()
  expect(openForRead(store, id)?.state).not.toHaveProperty('log_crc')
  expect(await inSession(() => undefined)).not.toHaveProperty('log_crc')
})
