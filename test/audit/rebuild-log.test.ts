/** A log that is damaged, gone on with by a person's wish: what was taken is not taken again, and nothing goes on by itself. */
import { randomUUID } from 'node:crypto'
import { readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { beforeEach, describe, expect, test } from 'vitest'
import { checkHome } from '../../src/audit/check.js'
import { rebuildLog } from '../../src/audit/rebuild-log.js'
import { findKey } from '../../src/session/key-index.js'
import { openForRead } from '../../src/session/load.js'
import type { NewRecord } from '../../src/session/records.js'
import type { Session } from '../../src/session/session.js'
import type { State } from '../../src/session/state.js'
import { isUnfinished } from '../../src/session/status.js'
import { frame } from '../../src/storage/log/frame.js'
import type { FileStore } from '../../src/storage/store.js'
import { copyOf, killedAt } from '../support/killed.js'
import { deliveredRecord, posted } from '../support/mail.js'
import { clearFaults, operationsOf, recordOperations, unsyncedAfter } from '../support/operations.js'
import {
  appendTurn,
  beginning,
  newAgent,
  recordsOf,
  reopen,
  replied,
  startedRun,
  terminate,
  userMessage,
} from '../support/sessions.js'
import { tempStore } from '../support/temp.js'

let store: FileStore
let lead: string
let child: string

beforeEach(async () => {
  store = tempStore()
  lead = await newAgent(store, { name: 'lead' })
  child = await newAgent(store, { name: 'child', parent: lead })
})

async function write(id: string, work: (session: Session) => void): Promise<void> {
  const session = await reopen(store, id)
  work(session)
  await session.close(() => false)
}

function linesOf(id: string): string[] {
  return readFileSync(store.logPath(id), 'utf8').split('\n').slice(0, -1)
}

/** One byte of that record's line. */
function flipIn(id: string, seq: number): void {
  const lines = linesOf(id)
  lines[seq - 1] = (lines[seq - 1] as string).replace('"ts":"2', '"ts":"3')
  writeFileSync(store.logPath(id), `${lines.join('\n')}\n`)
}

function withoutSnapshot(id: string): void {
  rmSync(join(dirname(store.logPath(id)), 'session.json'))
}

async function rebuild(id: string, home = store): Promise<State> {
  await rebuildLog(home, id, { command: 'substrat doctor', note: () => undefined })
  return openForRead(home, id)?.state as State
}

/** A turn that was asked for by mail. */
function mailTurn(session: Session, message_id: string, from: string, isEnded = true): void {
  const run_id = randomUUID()
  const [activated] = beginning(session, run_id, '')
  const begun = [activated as NewRecord, startedRun(run_id), deliveredRecord(run_id, { message_id, from })]
  session.append(begun)
  if (!isEnded) return
  session.append([
    replied(run_id, 'done'),
    { kind: 'run.completed', run_id },
    { kind: 'session.suspended', reason: 'idle' },
    { kind: 'mail.answered' },
  ])
}

test('the new log begins with the whole batches of the old one, which is kept byte for byte', async () => {
  await write(child, (session) => {
    appendTurn(session, 'one', 'first')
    appendTurn(session, 'two', 'second')
  })
  const whole = linesOf(child).slice(0, 9)
  flipIn(child, 12)
  const damaged = readFileSync(store.logPath(child))
  const state = await rebuild(child)
  expect(linesOf(child).slice(0, 9)).toEqual(whole)
  const [kept = ''] = state.lost?.kept ?? []
  expect(readFileSync(join(dirname(store.logPath(child)), kept))).toEqual(damaged)
  expect(state).toMatchObject({
    state: 'suspended',
    hold: true,
    path: 'lead/child',
    run: { status: 'completed' },
  })
  expect(recordsOf(store, child).at(-1)).toMatchObject({ kind: 'session.rebuilt', kept, last_seq: 17 })
  expect(checkHome(store, { isRecovered: true })).toEqual([])
})

test.each([
  ['nothing is damaged', ''],
  ['the tail is torn, which the next writer cuts', '{"seq":2,"ts'],
])('where %s nothing is done', async (_, tail) => {
  writeFileSync(store.logPath(child), tail, { flag: 'a' })
  const before = readFileSync(store.logPath(child))
  expect(await rebuildLog(store, child, { command: 'test', note: () => undefined })).toBeUndefined()
  expect(readFileSync(store.logPath(child))).toEqual(before)
  expect(readdirSync(dirname(store.logPath(child))).filter((name) => name.includes('damaged'))).toEqual([])
})

describe.each([
  ['with its snapshot', () => undefined],
  ['without its snapshot', withoutSnapshot],
])('what is known of the lost part still holds, %s', (_, spoil) => {
  test('mail that was taken is not taken again, and who asked is told', async () => {
    const message_id = randomUUID()
    await write(child, (session) => {
      appendTurn(session, 'one', 'first')
      session.append([{ kind: 'provider.state', state: 'before' }])
      mailTurn(session, message_id, lead)
    })
    flipIn(child, 10)
    spoil(child)
    const state = await rebuild(child)
    expect(state.delivered).toEqual([message_id])
    expect(state.owes).toMatchObject([{ kind: 'error', to: lead, reply_to: message_id }])
  })

  test('the key of a message is not used again', async () => {
    await write(child, (session) => {
      session.append([{ kind: 'provider.state', state: 'before' }])
      const run_id = randomUUID()
      session.append([
        { kind: 'session.activated', boot_id: 'x' },
        startedRun(run_id, 'today'),
        userMessage(run_id, 'report'),
      ])
      session.append([
        replied(run_id, 'done'),
        { kind: 'run.completed', run_id },
        { kind: 'session.suspended', reason: 'idle' },
      ])
    })
    flipIn(child, 2)
    spoil(child)
    const state = await rebuild(child)
    expect(findKey(store, state, 'today')).toBe('lost')
    expect(findKey(store, state, 'tomorrow')).toBeUndefined()
    expect(state.keys).toEqual([])
  })

  test('what it was told to be, it is', async () => {
    await write(child, (session) => {
      session.append([{ kind: 'provider.state', state: 'before' }])
      session.append([{ kind: 'session.configured', model: 'large', allow: ['shell'] }])
      session.append([{ kind: 'provider.state', state: 'after' }])
    })
    flipIn(child, 2)
    spoil(child)
    expect(await rebuild(child)).toMatchObject({ model: 'large', allow: ['shell'], provider_state: 'after' })
  })

  test('what ended stays ended', async () => {
    await write(child, (session) => session.append([{ kind: 'provider.state', state: 'before' }]))
    await terminate(store, child)
    flipIn(child, 2)
    spoil(child)
    expect((await rebuild(child)).state).toBe('terminated')
  })
})

test('where the damage took the very record, the snapshot knows', async () => {
  const message_id = randomUUID()
  await write(child, (session) => {
    const run_id = randomUUID()
    session.append([
      { kind: 'session.activated', boot_id: 'x' },
      startedRun(run_id, 'today'),
      deliveredRecord(run_id, { message_id }),
    ])
    session.append([
      { kind: 'run.completed', run_id },
      { kind: 'session.suspended', reason: 'idle' },
    ])
  })
  writeFileSync(store.logPath(child), `${linesOf(child)[0]}\n`)
  const state = await rebuild(child)
  expect(state).toMatchObject({ delivered: [message_id], hold: true })
  expect(findKey(store, state, 'today')).toBe('lost')
})

describe('nothing goes on by itself', () => {
  test('an open run is cancelled, its token worth nothing, and who asked is told once', async () => {
    const [message_id, token_id] = [randomUUID(), randomUUID()]
    await write(child, (session) => {
      mailTurn(session, message_id, lead, false)
      const { run_id } = session.state.run ?? { run_id: '' }
      session.append([
        { kind: 'token.minted', run_id, token_id, hash: 'h', expires_at: '9999-11-20T10:00:00.000Z' },
        {
          kind: 'run.waiting',
          run_id,
          wait: 'input',
          token_id,
          asks: [],
          deadline_at: '9999-11-20T10:00:00.000Z',
        },
        { kind: 'session.suspended', reason: 'idle' },
      ])
      session.append([{ kind: 'provider.state', state: 'after' }])
    })
    flipIn(child, linesOf(child).length)
    const state = await rebuild(child)
    expect(state).toMatchObject({
      state: 'suspended',
      hold: true,
      run: { status: 'cancelled', reason: 'log_damaged', wait: null },
      tokens: [{ status: 'revoked' }],
      recovery: { interruption: null },
    })
    expect(state.owes.map(({ to, reply_to }) => [to, reply_to])).toEqual([[lead, message_id]])
  })

  test('a turn that was interrupted is not gone on with: it may have been', async () => {
    await write(child, (session) => {
      const run_id = randomUUID()
      session.append(beginning(session, run_id, 'work'))
      session.append([
        { kind: 'run.interrupted', run_id, reason: 'process_exit' },
        { kind: 'session.suspended', reason: 'recovery' },
      ])
      session.append([{ kind: 'provider.state', state: 'x' }])
    })
    flipIn(child, linesOf(child).length)
    const state = await rebuild(child)
    expect(state.run?.status).toBe('interrupted')
    expect(isUnfinished(state)).toBe(false)
  })

  test('a reminder is dropped: it may have rung', async () => {
    await write(child, (session) => {
      appendTurn(session, 'one', 'first')
      const due_at = '2026-11-20T10:00:00.000Z'
      session.append([
        { kind: 'reminder.set', reminder_id: randomUUID(), content: 'x', due_at, every_ms: null },
      ])
      session.append([{ kind: 'provider.state', state: 'x' }])
    })
    flipIn(child, linesOf(child).length)
    expect((await rebuild(child)).reminders).toEqual([])
  })
})

describe('its place in the tree', () => {
  /** With a batch behind the record of it: the last one, damaged, would be a torn tail to those who have no snapshot. */
  async function end(id: string): Promise<void> {
    await terminate(store, id)
    await write(id, (session) => session.append([{ kind: 'status.derived', status: 'idle' }]))
  }

  test('it is terminated where its name is another living agent by now', async () => {
    await write(child, (session) => session.append([{ kind: 'provider.state', state: 'x' }]))
    await end(child)
    const heir = await newAgent(store, { name: 'child', parent: lead })
    flipIn(child, 3)
    withoutSnapshot(child)
    expect((await rebuild(child)).state).toBe('terminated')
    expect(store.childNames(lead).lookUp('child')).toBe(heir)
    expect(checkHome(store, { isRecovered: true })).toEqual([])
  })

  test('it is terminated where its parent is', async () => {
    await end(child)
    await terminate(store, lead)
    flipIn(child, 2)
    withoutSnapshot(child)
    expect((await rebuild(child)).state).toBe('terminated')
    expect(checkHome(store, { isRecovered: true })).toEqual([])
  })
})

describe('where nothing of the log is whole', () => {
  test('it begins anew with what the snapshot says', async () => {
    await write(child, (session) => appendTurn(session, 'one', 'first'))
    writeFileSync(store.logPath(child), 'garbage\n')
    expect(await rebuild(child)).toMatchObject({
      name: 'child',
      parent: lead,
      path: 'lead/child',
      hold: true,
    })
    expect(checkHome(store, { isRecovered: true })).toEqual([])
  })

  test('and there is no snapshot, it stays as it is', async () => {
    writeFileSync(store.logPath(child), 'garbage\n')
    withoutSnapshot(child)
    await expect(rebuild(child)).rejects.toMatchObject({
      code: 'CORRUPT',
      hint: expect.stringContaining('backup'),
    })
    expect(readFileSync(store.logPath(child), 'utf8')).toBe('garbage\n')
  })

  test('a log of another agent is only in the wrong place, and stays there', async () => {
    const log = readFileSync(store.logPath(lead))
    writeFileSync(store.logPath(child), log)
    await expect(rebuild(child)).rejects.toMatchObject({
      code: 'CORRUPT',
      message: expect.stringContaining(lead),
    })
    expect(readFileSync(store.logPath(child))).toEqual(log)
  })

  test('a log of a newer program is not touched', async () => {
    const [first = ''] = linesOf(child)
    const { crc: _, ...record } = JSON.parse(first)
    const log = frame({ ...record, format: 2 })
    writeFileSync(store.logPath(child), log)
    await expect(rebuild(child)).rejects.toMatchObject({ code: 'UNKNOWN_FORMAT' })
    expect(readFileSync(store.logPath(child))).toEqual(log)
  })
})

test('an agent that somebody holds is left alone', async () => {
  const session = await reopen(store, child)
  writeFileSync(store.logPath(child), 'garbage\n')
  await expect(rebuild(child)).rejects.toMatchObject({ code: 'LOCKED' })
  await session.abandon()
})

describe('a power cut', () => {
  test('takes no name of what is kept once another log may take its place', () => {
    const kept = operationsOf(() => store.upkeep.keepDamaged(child))
    expect(unsyncedAfter(kept)).toEqual([])
  })

  test('takes nothing of the new log once the rebuild is told', async () => {
    await write(child, (session) => appendTurn(session, 'one', 'first'))
    flipIn(child, 4)
    const operations = recordOperations()
    await rebuild(child)
    clearFaults()
    const unsynced = unsyncedAfter(operations).filter((path) => path.includes('events.jsonl'))
    expect(unsynced).toEqual([])
  })
})

test('killed at step after step, the damaged bytes are kept, and the next call comes to the same', async () => {
  const message_id = randomUUID()
  posted(store, child, 'later', { from: lead })
  await write(child, (session) => {
    appendTurn(session, 'one', 'first')
    mailTurn(session, message_id, lead)
  })
  flipIn(child, 12)
  const damaged = readFileSync(store.logPath(child))
  for (let step = 1; ; step++) {
    const dying = copyOf(store)
    const died = await killedAt(
      step,
      () => rebuild(child, dying),
      ({ name }) => !['read', 'open'].includes(name),
    )
    const home = copyOf(dying)
    const state = await rebuild(child, home)
    const folder = dirname(home.logPath(child))
    const kept = readdirSync(folder).filter((name) => name.startsWith('events.jsonl'))
    expect(
      kept.some((name) => readFileSync(join(folder, name)).equals(damaged)),
      `killed at step ${step}`,
    ).toBe(true)
    expect(state, `killed at step ${step}`).toMatchObject({
      state: 'suspended',
      hold: true,
      delivered: [message_id],
    })
    expect(checkHome(home, { isRecovered: false }), `killed at step ${step}`).toEqual([])
    if (!died) return
  }
})
