import { afterEach, expect, test } from 'vitest'
import type { Actor } from '../../src/schema/types.js'
import { actAs, asActor, withActor } from '../../src/session/actor.js'
import type { NewRecord } from '../../src/session/records.js'

const ME: Actor = { uid: 1, face: 'cli' }
const OTHER: Actor = { face: 'http', token: 'phone' }
const run_id = 'r'

afterEach(() => actAs(undefined))

const DECISIONS = [
  { kind: 'message.user', message_id: 'm', run_id, content: 'hi', origin: 'operator' },
  { kind: 'token.consumed', run_id, token_id: 't', decision: 'approve', digest: 'd' },
  { kind: 'tool.edited', run_id, call_id: 'c', tool: 'shell' },
  { kind: 'wait.answered', run_id, decision: 'input', content: '', asks: [] },
  { kind: 'run.resumed', run_id, boot_id: 'b', auto: false, attempt: 1 },
  { kind: 'run.cancelled', run_id, reason: 'cancelled' },
  { kind: 'run.cancelled', run_id, reason: 'superseded' },
  { kind: 'run.interrupted', run_id, reason: 'suspended' },
  { kind: 'run.programs_gone', run_id, by: 'person' },
  { kind: 'session.configured', hold: true },
  { kind: 'session.terminated' },
] satisfies NewRecord[]

test.each(DECISIONS)('a decision names the actor of the process: %j', (record) => {
  expect(withActor(record)).toEqual(record)
  actAs(ME)
  expect(withActor(record)).toEqual({ ...record, actor: ME })
})

test.each(DECISIONS)('an actor that the record names counts, and none if it says so: %j', (record) => {
  actAs(ME)
  expect(withActor({ ...record, actor: OTHER } as NewRecord)).toEqual({ ...record, actor: OTHER })
  expect(withActor({ ...record, actor: undefined } as NewRecord)).toStrictEqual(record)
})

test.each<NewRecord>([
  { kind: 'message.user', message_id: 'm', run_id, content: 'go on', origin: 'continuation' },
  { kind: 'run.resumed', run_id, boot_id: 'b', auto: true, attempt: 1 },
  { kind: 'run.cancelled', run_id, reason: 'turn_timeout' },
  { kind: 'run.interrupted', run_id, reason: 'process_exit' },
  { kind: 'run.interrupted', run_id, reason: 'shutdown' },
  { kind: 'run.programs_gone', run_id, by: 'host' },
  { kind: 'message.agent', message_id: 'm', run_id, content: 'hi' },
])('an automatic act and an act of the agent have no actor: %j', (record) => {
  actAs(ME)
  expect(withActor(record)).toBe(record)
})

test('only an actor of the format is one, also in a stop request', () => {
  expect(asActor(OTHER)).toEqual(OTHER)
  expect(asActor({ ...OTHER, face: 'later', more: 1 })).toEqual({ ...OTHER, face: 'later' })
  for (const other of [
    ...[{}, { uid: 1 }, { face: 'cli', uid: '0' }, [], 'ana', null, undefined],
    { face: 'cli', user: 'x'.repeat(3_000_000) },
  ])
    expect(asActor(other)).toBeUndefined()
})
