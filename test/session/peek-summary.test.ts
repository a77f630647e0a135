import { randomUUID } from 'node:crypto'
import { appendFileSync, readFileSync, rmSync, truncateSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { beforeEach, describe, expect, test } from 'vitest'
import { openForRead } from '../../src/session/load.js'
import { peekState } from '../../src/session/peek-state.js'
import { peekSummary } from '../../src/session/peek-summary.js'
import type { NewRecord } from '../../src/session/records.js'
import type { Session } from '../../src/session/session.js'
import { shownStatus } from '../../src/session/shown-status.js'
import type { AgentSummary } from '../../src/session/snapshot-layout.js'
import type { State } from '../../src/session/state.js'
import { deriveStatus } from '../../src/session/status.js'
import type { FileStore } from '../../src/storage/file-store.js'
import { frame } from '../../src/storage/log/frame.js'
import { withFaults } from '../support/faults.js'
import { reading } from '../support/readings.js'
import { appendTurn, beginning, newSession, reopen } from '../support/sessions.js'
import { encodeEarlierSnapshot, encodeSnapshot } from '../support/snapshots.js'
import { tempStore } from '../support/temp.js'

let store: FileStore

beforeEach(() => {
  store = tempStore()
})

const SHOWN = [
  'id',
  'name',
  'title',
  'parent',
  'path',
  'state',
  'hold',
  'gate',
  'provider_name',
  'model',
  'workspace',
  'created_at',
  'updated_at',
  'last_seq',
  'last_offset',
  'log_bytes',
  'reminders',
] as const satisfies (keyof State)[]

function shown(state: AgentSummary | undefined): object {
  return Object.fromEntries(SHOWN.map((field) => [field, state?.[field]]))
}

const NOW = '2026-11-20T10:00:00.000Z'

/** Checks that both fast paths give the same result as the whole log. */
function expectSame(id: string): void {
  const truth = openForRead(store, id)?.state as State
  expect(peekState(store, id)).toEqual(truth)
  const brief = peekSummary(store, id, false) as AgentSummary
  expect(shown(brief)).toEqual(shown(truth))
  expect(brief.run?.status ?? brief.ended).toBe(truth.run?.status)
  const status = deriveStatus(truth, false, reading(NOW))
  expect(deriveStatus(brief, false, reading(NOW))).toBe(status)
  expect(shownStatus(status, brief, () => false)).toBe(shownStatus(status, truth, () => false))
}

function opens(act: () => void): number {
  let count = 0
  withFaults(({ name }) => {
    if (name === 'open') count += 1
    return undefined
  })
  act()
  withFaults(() => undefined)
  return count
}

async function atRest(facts: { name?: string } = {}): Promise<string> {
  const session = await newSession(store, { name: 'a', ...facts })
  appendTurn(session, 'hello', 'echo: hello')
  await session.close(() => false)
  return session.id
}

async function agentWith(act: (session: Session) => NewRecord[]): Promise<string> {
  const session = await newSession(store, { name: 'a' })
  session.append(act(session))
  await session.close(() => false)
  return session.id
}

function agentWithTurn(kind: 'run.failed' | 'run.cancelled', facts: object): Promise<string> {
  return agentWith((session) => {
    const runId = randomUUID()
    return [...beginning(session, runId, 'hello'), { kind, run_id: runId, ...facts } as NewRecord]
  })
}

const CONFIGURED = 'session.configured'
const TRICKS = 'x"},"provider_name":"forged","run":null,"recovery":{"interruption":null'

describe('the fast path gives the same result as the whole log for an agent', () => {
  const CASES: [string, () => Promise<string>][] = [
    ['that is new', () => agentWith(() => [])],
    ['that has had a turn', () => atRest()],
    ['with quotes and a backslash in its name', () => atRest({ name: 'Müller \\ "\u{1f600}" }' })],
    ['whose turn is open', () => agentWith((session) => beginning(session, randomUUID(), 'hello'))],
    ['that is terminated', () => agentWith(() => [{ kind: 'session.terminated' }])],
    ['that is on hold', () => agentWith(() => [{ kind: CONFIGURED, hold: true }])],
    [
      'that is gated',
      () => agentWith(() => [{ kind: 'agent.gated', message_id: randomUUID(), from: 'operator' }]),
    ],
    ['with JSON syntax in its title', () => agentWith(() => [{ kind: CONFIGURED, title: TRICKS }])],
    [
      'with JSON syntax in its metadata',
      () => agentWith(() => [{ kind: CONFIGURED, metadata: { a: TRICKS, run: '}' } }]),
    ],
    [
      'with JSON syntax in its options',
      () => agentWith(() => [{ kind: CONFIGURED, options: { '}': '{', b: TRICKS } }]),
    ],
    ['that may use tools', () => agentWith(() => [{ kind: CONFIGURED, allow: ['shell', 'write_file'] }])],
    [
      'with long instructions',
      () => agentWith(() => [{ kind: CONFIGURED, instructions: `${'so '.repeat(9999)}\n` }]),
    ],
    ['whose turn failed', () => agentWithTurn('run.failed', { error: { type: 'crashed', message: 'm' } })],
    ['whose turn was cancelled', () => agentWithTurn('run.cancelled', { reason: 'cancelled' })],
    ['whose turn timed out', () => agentWithTurn('run.cancelled', { reason: 'turn_timeout' })],
    [
      'whose turn was interrupted',
      () =>
        agentWith((session) => {
          const runId = randomUUID()
          const ended: NewRecord = { kind: 'run.interrupted', run_id: runId, reason: 'process_exit' }
          return [...beginning(session, runId, 'hello'), ended]
        }),
    ],
  ]

  test.each(CASES)('%s', async (_, make) => {
    expectSame(await make())
  })

  test('whose snapshot is behind, missing, damaged or larger than the part that it reads', async () => {
    const id = await atRest()
    const path = join(dirname(store.local.logPath(id)), 'session.json')
    const good = readFileSync(path)
    const session = await reopen(store, id)
    session.append([{ kind: CONFIGURED, title: 'newer' }])
    await session.abandon()
    const late = encodeSnapshot({ ...session.state, instructions: 'x'.repeat(100_000) })
    for (const bytes of [good, Buffer.alloc(0), Buffer.alloc(900), good.subarray(0, -9), late]) {
      writeFileSync(path, bytes)
      expect(openForRead(store, id)?.state.last_seq).toBe(session.state.last_seq)
      expect(shown(peekSummary(store, id, false))).toEqual(shown(session.state))
    }
    rmSync(path)
    expectSame(id)
  })

  test('whose log ends in half a record', async () => {
    const id = await atRest()
    appendFileSync(store.local.logPath(id), '{"seq":9,"ts":')
    expectSame(id)
  })
})

describe('the fast path', () => {
  test('refuses a log that is shorter than its snapshot', async () => {
    const id = await atRest()
    truncateSync(store.local.logPath(id), 300)
    expect(() => peekSummary(store, id, false)).toThrow(expect.objectContaining({ code: 'CORRUPT' }))
    expect(() => peekState(store, id)).toThrow(expect.objectContaining({ code: 'CORRUPT' }))
  })

  test('refuses a damaged last record', async () => {
    const id = await atRest()
    const log = readFileSync(store.local.logPath(id))
    log[log.length - 30] = (log[log.length - 30] as number) ^ 1
    writeFileSync(store.local.logPath(id), log)
    expect(() => peekSummary(store, id, false)).toThrow(expect.objectContaining({ code: 'CORRUPT' }))
  })

  test('ignores a snapshot of another agent, or one with a wrong last record', async () => {
    const id = await atRest()
    const path = join(dirname(store.local.logPath(id)), 'session.json')
    const { crc: _, ...fields } = JSON.parse(readFileSync(path, 'utf8')) as Record<string, unknown>
    for (const changes of [{ id: randomUUID() }, { last_seq: 3 }, { last_offset: -5 }]) {
      writeFileSync(path, frame({ ...fields, ...changes }))
      expectSame(id)
    }
  })

  test('returns undefined for an agent that does not exist', () => {
    expect(peekSummary(store, randomUUID(), false)).toBeUndefined()
    expect(peekState(store, randomUUID())).toBeUndefined()
  })
})

test.each([
  ['of this version', encodeSnapshot, 'a'],
  [
    'with the checksum of the log',
    (state: State) => encodeSnapshot(state, Buffer.alloc(state.log_bytes)),
    'a',
  ],
  ['of version 7', encodeEarlierSnapshot, 'a'],
  ['that is not all ASCII', encodeSnapshot, 'Müller \u{1f600}'],
])('the fast path opens only two files of an idle agent with a snapshot %s', async (_, encode, name) => {
  const id = await atRest({ name })
  const truth = openForRead(store, id)?.state as State
  writeFileSync(join(dirname(store.local.logPath(id)), 'session.json'), encode(truth))
  expectSame(id)
  expect(opens(() => peekSummary(store, id, false))).toBe(2)
  expect(opens(() => peekState(store, id))).toBe(2)
  // This fails if the fields of a snapshot are no longer in the order of LAYOUT (snapshot-layout.ts).
  expect(peekSummary(store, id, false)?.run).toBeNull()
  expect(peekState(store, id)?.run).not.toBeNull()
})
