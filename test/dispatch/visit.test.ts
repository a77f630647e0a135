/** A visit to an agent: in which order what is asked, owed and taken goes to the log, to others and out of the inbox. */
import { randomUUID } from 'node:crypto'
import { describe, expect, test } from 'vitest'
import { startTurn } from '../../src/dispatch/turns.js'
import { visit } from '../../src/dispatch/visit.js'
import { SubstratError } from '../../src/errors.js'
import type { Draft } from '../../src/mail/post.js'
import { openForRead } from '../../src/session/load.js'
import type { NewRecord } from '../../src/session/records.js'
import type { State } from '../../src/session/state.js'
import type { FileStore } from '../../src/storage/file-store.js'
import { completedRecord } from '../../src/turn/step/records.js'
import { contextAt } from '../support/contexts.js'
import { deliveredRecord, posted } from '../support/mail.js'
import { clearFaults, type Recorded, recordOperations } from '../support/operations.js'
import {
  beginning,
  newAgent,
  newSession,
  recordsOf,
  reopen,
  replied,
  startedRun,
} from '../support/sessions.js'
import { tempStore } from '../support/temp.js'
import { model, runTurn, says } from '../support/turns.js'

const bounds = { slotsMax: 4, waitMs: 3_600_000, turnTimeoutMs: 3_600_000 }
const GATE = { kind: 'control', control: { verb: 'gate' } } as const

const stateOf = (store: FileStore, id: string): State => openForRead(store, id)?.state as State

/** Where the record was synced, and where a message left the inbox. */
function orderOf(operations: Recorded[], kind: string): { durable: number; removed: number } {
  const written = operations.findIndex(
    ({ point, bytes }) => point === 'log.append' && Buffer.from(bytes ?? []).includes(`"kind":"${kind}"`),
  )
  const durable = operations.findIndex(({ point }, index) => index > written && point === 'log.sync')
  return { durable, removed: operations.findIndex(({ point }) => point === 'mail.remove') }
}

/** The steps of the delivery of one message. */
async function deliveryOf(store: FileStore, id: string, over: Partial<Draft>): Promise<Recorded[]> {
  const { ctx } = contextAt(store, { bounds })
  posted(store, id, 'hi', over)
  const operations = recordOperations()
  ctx.deliveries.wake(id)
  await ctx.deliveries.untilIdle()
  clearFaults()
  return operations
}

describe('an inbox file is removed', () => {
  test.each([
    ['a message', {}, 'mail.delivered'],
    ['what is asked of an agent', GATE, 'agent.gated'],
  ])('%s: once its record is on disk', async (_, over, kind) => {
    const store = tempStore()
    const id = await newAgent(store)
    const operations = await deliveryOf(store, id, over)
    const { durable, removed } = orderOf(operations, kind)
    expect(durable).toBeGreaterThan(0)
    expect(removed).toBeGreaterThan(durable)
    expect(store.mail.ids(id)).toEqual([])
  })
})

/** An agent that has taken as many messages as it remembers: the next one makes it forget the older half. */
async function fullOfIds(store: FileStore): Promise<string> {
  const session = await newSession(store)
  const run = randomUUID()
  const taken = Array.from({ length: 2000 }, () => deliveredRecord(run, { mail_kind: 'notification' }))
  session.append([{ kind: 'session.activated', boot_id: 'b' }, startedRun(run), ...taken])
  session.append([completedRecord(run, null), { kind: 'session.suspended', reason: 'idle' }])
  await session.close(() => false)
  return session.id
}

describe('ids are forgotten only once the removal of their files is on disk', () => {
  test.each([
    ['by the mail of a turn', {}, 'mail.delivered'],
    ['by what is asked of the agent', GATE, 'agent.gated'],
  ])('%s', async (_, over, kind) => {
    const store = tempStore()
    const id = await fullOfIds(store)
    const operations = await deliveryOf(store, id, over)
    const synced = operations.findIndex(({ point }) => point === 'mail.sync_removals')
    expect(synced).toBeGreaterThanOrEqual(0)
    expect(synced).toBeLessThan(orderOf(operations, kind).durable)
    expect(stateOf(store, id).delivered_forgotten).toBeGreaterThan(0)
  })

  test('by controls that arrive while a turn runs', async () => {
    const store = tempStore()
    const id = await fullOfIds(store)
    const session = await reopen(store, id)
    const operations = recordOperations()
    const asked = model(() => {
      posted(store, id, '', GATE)
      return says({ type: 'text', text: 'done' }, { type: 'stop', reason: 'end' })
    })
    await runTurn(session, asked)
    clearFaults()
    const synced = operations.findIndex(({ point }) => point === 'mail.sync_removals')
    expect(synced).toBeGreaterThanOrEqual(0)
    expect(synced).toBeLessThan(orderOf(operations, 'agent.gated').durable)
    expect(session.state.gate.isGated).toBe(true)
    await session.abandon()
  })
})

test('a pending control applies to the work of the visit', async () => {
  const store = tempStore()
  const id = await newAgent(store)
  const { ctx } = contextAt(store, { bounds })
  posted(store, id, '', GATE)
  const isGated = await visit(ctx, id, { waitMs: 0, continuesTurn: false }, async (session) => {
    return session.state.gate.isGated
  })
  expect(isGated).toBe(true)
})

/** The end of a run that answers a request of the operator. */
function answering(run: string): NewRecord[] {
  return [replied(run, 'the answer'), completedRecord(run, null)]
}

describe('the outbox of a run is sent', () => {
  test('by the next visit before its work, where the process had died', async () => {
    const store = tempStore()
    const session = await newSession(store)
    const run = randomUUID()
    session.append([{ kind: 'session.activated', boot_id: 'b' }, startedRun(run), deliveredRecord(run)])
    session.append([...answering(run), { kind: 'session.suspended', reason: 'idle' }])
    await session.abandon()
    const { ctx } = contextAt(store, { bounds })
    const seen = await visit(
      ctx,
      session.id,
      { waitMs: 0, continuesTurn: true },
      async () => store.mail.ids('operator').length,
    )
    expect(seen).toBe(1)
    expect(openForRead(store, session.id)?.state.owes).toEqual([])
  })

  test('with the end of the visit that it ended in', async () => {
    const store = tempStore()
    const id = await newAgent(store)
    const { ctx } = contextAt(store, { bounds })
    await visit(ctx, id, { waitMs: 0, continuesTurn: false }, async (session) => {
      const run = randomUUID()
      session.append([{ kind: 'session.activated', boot_id: 'b' }, startedRun(run), deliveredRecord(run)])
      session.append(answering(run))
    })
    expect(stateOf(store, id).owes).toEqual([])
    expect(store.mail.ids('operator')).toHaveLength(1)
    expect(store.visits.markedIds()).toEqual([])
  })
})

describe('an agent that said that it is done', () => {
  test.each([
    ['ends', false, 'terminated'],
    ['lives on for a child that it has', true, 'suspended'],
  ])('%s', async (_, hasChild, state) => {
    const store = tempStore()
    const id = await newAgent(store, { name: 'lead' })
    if (hasChild) await newAgent(store, { name: 'child', parent: id })
    const { ctx } = contextAt(store, { bounds })
    await visit(ctx, id, { waitMs: 0, continuesTurn: false }, async (session) => {
      const run = randomUUID()
      session.append(beginning(session, run, 'go'))
      session.append([replied(run, 'done'), completedRecord(run, null, true)])
    })
    expect(stateOf(store, id).state).toBe(state)
  })
})

test('after a failure of storage nothing more is written: the session is left to recovery, and marked', async () => {
  const store = tempStore()
  const id = await newAgent(store)
  const { ctx } = contextAt(store, { bounds })
  const work = visit(ctx, id, { waitMs: 0, continuesTurn: false }, async (session) => {
    session.append([{ kind: 'session.activated', boot_id: 'b' }])
    throw new SubstratError('STORAGE_FAILED', 'the disk is full')
  })
  await expect(work).rejects.toMatchObject({ code: 'STORAGE_FAILED' })
  expect(stateOf(store, id).state).toBe('active')
  expect([store.visits.markedIds(), store.isHeld(id)]).toEqual([[id], false])
})

const REQUEST = { key: null, digest: null, turn_timeout_ms: null, steps_max: null, allow: [] }

test('a control that arrives during a turn applies before its end, although the visit had read the inbox', async () => {
  const store = tempStore()
  const id = await newAgent(store)
  const { ctx } = contextAt(store, { bounds })
  ctx.reporter.record = ({ kind }) => {
    if (kind === 'run.started') posted(store, id, '', GATE)
  }
  await visit(ctx, id, { waitMs: 0, continuesTurn: true }, (session) =>
    startTurn(
      ctx,
      session,
      { prompt: { origin: 'operator', content: 'hi' }, ...REQUEST },
      { isLast: () => true },
    ),
  )
  const kinds = recordsOf(store, id).map(({ kind }) => kind)
  expect(kinds.indexOf('agent.gated')).toBeGreaterThan(kinds.indexOf('run.started'))
  expect(kinds.indexOf('agent.gated')).toBeLessThan(kinds.indexOf('run.completed'))
})

test('after a turn the inbox is looked at again, when the lock is free', async () => {
  const store = tempStore()
  const id = await newAgent(store)
  const { ctx } = contextAt(store, { bounds })
  const isHeld: boolean[] = []
  ctx.deliveries.lookAgain = (agentId) => void isHeld.push(store.isHeld(agentId))
  await visit(ctx, id, { waitMs: 0, continuesTurn: true }, (session) =>
    startTurn(
      ctx,
      session,
      { prompt: { origin: 'operator', content: 'hi' }, ...REQUEST },
      { isLast: () => true },
    ),
  )
  expect(isHeld).toEqual([false])
})
