import { randomUUID } from 'node:crypto'
import { expect, test } from 'vitest'
import { type OutboundRules, withOutbound } from '../../src/session/outbound.js'
import type { NewRecord } from '../../src/session/records.js'
import type { State } from '../../src/session/state.js'
import { foldAll } from '../support/folding.js'
import { createdRecord, startedRun, userMessage } from '../support/sessions.js'

const [RUN, NEXT] = [randomUUID() as string, randomUUID() as string]
const RULES: OutboundRules = [{ target: 'ops', covers: () => true, lifetimeMs: () => 1000 }]
const ACTIVATED: NewRecord = { kind: 'session.activated', boot_id: 'b' }
const CREATED = [
  createdRecord(randomUUID(), { name: 'a' }),
  ACTIVATED,
  startedRun(RUN),
  userMessage(RUN, 'hello'),
]
const INTERRUPTED: NewRecord = { kind: 'run.interrupted', run_id: RUN, reason: 'process_exit' }

function queuedBy(state: State, ...records: NewRecord[]): NewRecord[] {
  return withOutbound(state, records, RULES, () => '')
}

test('an event is queued directly after its cause, with an id that follows from its place', () => {
  const state = foldAll(CREATED)
  const [cause, queued, ...rest] = queuedBy(state, INTERRUPTED)
  expect([cause, rest]).toEqual([INTERRUPTED, []])
  expect(queued).toMatchObject({ kind: 'outbound.queued', target: 'ops', event: 'interrupted', run_id: RUN })
  expect(queuedBy(state, INTERRUPTED)[1]).toMatchObject({
    outbound_id: (queued as { outbound_id: string }).outbound_id,
  })
})

test('the report of an interruption is dropped once the turn continues', () => {
  const state = foldAll([...CREATED, ...queuedBy(foldAll(CREATED), INTERRUPTED)])
  const records = queuedBy(state, { ...startedRun(NEXT), continues: RUN } as NewRecord)
  expect(records.slice(1)).toMatchObject([{ kind: 'outbound.dropped', reason: 'superseded' }])
  expect(queuedBy(state, startedRun(NEXT))).toHaveLength(1)
})

test('a new token of a wait queues nothing, and the wait itself is reported once', () => {
  const waiting: NewRecord = { kind: 'run.waiting', run_id: RUN, wait: 'tool_result' }
  const state = foldAll(CREATED)
  const first = queuedBy(state, waiting)
  expect(first[1]).toMatchObject({ kind: 'outbound.queued', event: 'waiting' })
  expect(queuedBy(foldAll([...CREATED, ...first]), waiting)).toEqual([waiting])
})

test('a turn that exceeds its time limit is reported as failed, and one that a person cancels is not', () => {
  const state = foldAll(CREATED)
  const [, queued] = queuedBy(state, { kind: 'run.cancelled', run_id: RUN, reason: 'turn_timeout' })
  expect(queued).toMatchObject({
    event: 'failed',
    content:
      'The turn of a was stopped: it exceeded its time limit.\n' +
      "to allow more time: substrat send a --turn-timeout 1d '…'; to run it again: substrat retry a",
  })
  expect(queuedBy(state, { kind: 'run.cancelled', run_id: RUN, reason: 'cancelled' })).toHaveLength(1)
})
