/** A damaged log that the user rebuilds: mail is not delivered again, keys are not used again, and nothing continues by itself. */
import { randomUUID } from 'node:crypto'
import { readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { beforeEach, describe, expect, test } from 'vitest'
import { checkHome } from '../../src/audit/check.js'
import { rebuildLog } from '../../src/audit/rebuild-log.js'
import { FORMAT } from '../../src/format.js'
import { NO_RUNS } from '../../src/session/fold/usage.js'
import { findKey } from '../../src/session/key-index.js'
import { openForRead } from '../../src/session/load.js'
import type { NewRecord } from '../../src/session/records.js'
import type { Session } from '../../src/session/session.js'
import type { State } from '../../src/session/state.js'
import { isUnfinished } from '../../src/session/status.js'
import type { FileStore } from '../../src/storage/file-store.js'
import { frame } from '../../src/storage/log/frame.js'
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
import { encodeEarlierSnapshot } from '../support/snapshots.js'
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
  return readFileSync(store.local.logPath(id), 'utf8').split('\n').slice(0, -1)
}

/** Changes one byte in the line of this record. */
function flipIn(id: string, seq: number): void {
  const lines = linesOf(id)
  lines[seq - 1] = (lines[seq - 1] as string).replace('"ts":"2', '"ts":"3')
  writeFileSync(store.local.logPath(id), `${lines.join('\n')}\n`)
}

function withoutSnapshot(id: string): void {
  rmSync(join(dirname(store.local.logPath(id)), 'session.json'))
}

async function rebuild(id: string, home = store): Promise<State> {
  await rebuildLog(home, id, { command: 'substrat doctor', note: () => undefined })
  return openForRead(home, id)?.state as State
}

/** Appends a turn that mail requested. */
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

test('the new log starts with the intact batches of the old log, which is saved unchanged', async () => {
  await write(child, (session) => {
    appendTurn(session, 'one', 'first')
    appendTurn(session, 'two', 'second')
  })
  const whole = linesOf(child).slice(0, 11)
  flipIn(child, 15)
  const damaged = readFileSync(store.local.logPath(child))
  const state = await rebuild(child)
  expect(linesOf(child).slice(0, 11)).toEqual(whole)
  const [kept = ''] = state.lost?.kept ?? []
  expect(readFileSync(join(dirname(store.local.logPath(child)), kept))).toEqual(damaged)
  expect(state).toMatchObject({
    state: 'suspended',
    hold: true,
    path: 'lead/child',
    run: { status: 'completed' },
  })
  expect(recordsOf(store, child).at(-1)).toMatchObject({ kind: 'session.rebuilt', kept, last_seq: 21 })
  expect(checkHome(store, { isRecovered: true })).toEqual([])
})

test.each([
  ['nothing is damaged', ''],
  ['the log has only a truncated tail, which the next writer cuts', '{"seq":2,"ts'],
])('a rebuild changes nothing if %s', async (_, tail) => {
  writeFileSync(store.local.logPath(child), tail, { flag: 'a' })
  const before = readFileSync(store.local.logPath(child))
  expect(await rebuildLog(store, child, { command: 'test', note: () => undefined })).toBeUndefined()
  expect(readFileSync(store.local.logPath(child))).toEqual(before)
  expect(readdirSync(dirname(store.local.logPath(child))).filter((name) => name.includes('damaged'))).toEqual(
    [],
  )
})

describe.each([
  ['with a snapshot', () => undefined],
  ['without a snapshot', withoutSnapshot],
])('after a rebuild %s,', (_, spoil) => {
  test('delivered mail is not delivered again, and its sender receives an error', async () => {
    const message_id = randomUUID()
    await write(child, (session) => {
      appendTurn(session, 'one', 'first')
      session.append([{ kind: 'provider.state', state: 'before' }])
      mailTurn(session, message_id, lead)
    })
    flipIn(child, 12)
    spoil(child)
    const state = await rebuild(child)
    expect(state.delivered).toEqual([message_id])
    expect(state.owes).toMatchObject([{ kind: 'error', to: lead, reply_to: message_id }])
  })

  test('a key in the lost part of the log counts as lost and not as new', async () => {
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

  test('the configuration and the provider state of the agent are the same as before', async () => {
    await write(child, (session) => {
      session.append([{ kind: 'provider.state', state: 'before' }])
      session.append([{ kind: 'session.configured', model: 'large', allow: ['shell'] }])
      session.append([{ kind: 'provider.state', state: 'after' }])
    })
    flipIn(child, 2)
    spoil(child)
    expect(await rebuild(child)).toMatchObject({ model: 'large', allow: ['shell'], provider_state: 'after' })
  })

  test('a terminated agent stays terminated', async () => {
    await write(child, (session) => session.append([{ kind: 'provider.state', state: 'before' }]))
    await terminate(store, child)
    flipIn(child, 2)
    spoil(child)
    expect((await rebuild(child)).state).toBe('terminated')
  })
})

test('a rebuild takes the delivered mail and the keys of lost records from the snapshot', async () => {
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
  writeFileSync(store.local.logPath(child), `${linesOf(child)[0]}\n`)
  const state = await rebuild(child)
  expect(state).toMatchObject({ delivered: [message_id], hold: true })
  expect(findKey(store, state, 'today')).toBe('lost')
})

describe('a rebuild', () => {
  test('cancels an open run, revokes its token and owes its sender one error', async () => {
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

  test('does not continue an interrupted turn, which may have continued in the lost part', async () => {
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

  test('drops a reminder, which may have been delivered in the lost part', async () => {
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

describe('a rebuilt agent', () => {
  /** Terminates the agent and appends one more batch. Without a snapshot, damage in the last batch would count as a truncated tail. */
  async function end(id: string): Promise<void> {
    await terminate(store, id)
    await write(id, (session) => session.append([{ kind: 'status.derived', status: 'idle' }]))
  }

  test('is terminated if another living agent now has its name', async () => {
    await write(child, (session) => session.append([{ kind: 'provider.state', state: 'x' }]))
    await end(child)
    const heir = await newAgent(store, { name: 'child', parent: lead })
    flipIn(child, 3)
    withoutSnapshot(child)
    expect((await rebuild(child)).state).toBe('terminated')
    expect(store.names(lead).lookUp('child')).toBe(heir)
    expect(checkHome(store, { isRecovered: true })).toEqual([])
  })

  test('is terminated if its parent is terminated', async () => {
    await end(child)
    await terminate(store, lead)
    flipIn(child, 2)
    withoutSnapshot(child)
    expect((await rebuild(child)).state).toBe('terminated')
    expect(checkHome(store, { isRecovered: true })).toEqual([])
  })
})

describe('a log that is unusable from its first record on', () => {
  test('is replaced by a log that starts from the snapshot', async () => {
    await write(child, (session) => appendTurn(session, 'one', 'first'))
    writeFileSync(store.local.logPath(child), 'garbage\n')
    expect(await rebuild(child)).toMatchObject({
      name: 'child',
      parent: lead,
      path: 'lead/child',
      hold: true,
    })
    expect(checkHome(store, { isRecovered: true })).toEqual([])
  })

  test('is replaced by a log of the format of its records if the snapshot has an earlier format', async () => {
    const state = openForRead(store, child)?.state as State
    const snapshot = join(dirname(store.local.logPath(child)), 'session.json')
    writeFileSync(snapshot, encodeEarlierSnapshot({ ...state, format: 1 }))
    writeFileSync(store.local.logPath(child), 'garbage\n')
    expect(await rebuild(child)).toMatchObject({ format: FORMAT, usage: NO_RUNS })
    expect(recordsOf(store, child).map(({ kind }) => kind)).not.toContain('session.upgraded')
  })

  test('is left unchanged if there is no snapshot', async () => {
    writeFileSync(store.local.logPath(child), 'garbage\n')
    withoutSnapshot(child)
    await expect(rebuild(child)).rejects.toMatchObject({
      code: 'CORRUPT',
      hint: expect.stringContaining('backup'),
    })
    expect(readFileSync(store.local.logPath(child), 'utf8')).toBe('garbage\n')
  })

  test('is left unchanged if it belongs to another agent', async () => {
    const log = readFileSync(store.local.logPath(lead))
    writeFileSync(store.local.logPath(child), log)
    await expect(rebuild(child)).rejects.toMatchObject({
      code: 'CORRUPT',
      message: expect.stringContaining(lead),
    })
    expect(readFileSync(store.local.logPath(child))).toEqual(log)
  })

  test('is left unchanged if it has a newer format', async () => {
    const [first = ''] = linesOf(child)
    const { crc: _, ...record } = JSON.parse(first)
    const log = frame({ ...record, format: FORMAT + 1 })
    writeFileSync(store.local.logPath(child), log)
    await expect(rebuild(child)).rejects.toMatchObject({ code: 'UNKNOWN_FORMAT' })
    expect(readFileSync(store.local.logPath(child))).toEqual(log)
  })
})

test('a rebuild of an agent with a holder fails with LOCKED', async () => {
  const session = await reopen(store, child)
  writeFileSync(store.local.logPath(child), 'garbage\n')
  await expect(rebuild(child)).rejects.toMatchObject({ code: 'LOCKED' })
  await session.abandon()
})

describe('a power cut', () => {
  test('cannot lose the saved copy of the damaged log once a new log can replace it', () => {
    const kept = operationsOf(() => store.upkeep.keepDamaged(child))
    expect(unsyncedAfter(kept)).toEqual([])
  })

  test('cannot lose any part of the new log once the rebuild has returned', async () => {
    await write(child, (session) => appendTurn(session, 'one', 'first'))
    flipIn(child, 4)
    const operations = recordOperations()
    await rebuild(child)
    clearFaults()
    const unsynced = unsyncedAfter(operations).filter((path) => path.includes('events.jsonl'))
    expect(unsynced).toEqual([])
  })
})

test('a rebuild killed at any step leaves the damaged bytes on disk, and the next rebuild completes it', async () => {
  const message_id = randomUUID()
  posted(store, child, 'later', { from: lead })
  await write(child, (session) => {
    appendTurn(session, 'one', 'first')
    mailTurn(session, message_id, lead)
  })
  flipIn(child, 15)
  const damaged = readFileSync(store.local.logPath(child))
  for (let step = 1; ; step++) {
    const dying = copyOf(store)
    const died = await killedAt(
      step,
      () => rebuild(child, dying),
      ({ name }) => !['read', 'open'].includes(name),
    )
    const home = copyOf(dying)
    const state = await rebuild(child, home)
    const folder = dirname(home.local.logPath(child))
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
