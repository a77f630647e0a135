/** The order of the fields in the file of a snapshot, and their schema. */
import { expect, test } from 'vitest'
import { snapshot } from '../../src/schema/snapshot.js'
import { encodeBatch } from '../../src/session/batch.js'
import type { NewRecord } from '../../src/session/records.js'
import { encodeSnapshot } from '../support/snapshots.js'

const ID = '0b9f6c1e-6f0a-4c55-9a3b-2f1f5a3c7d10'

const CREATED: NewRecord<'session.created'> = {
  kind: 'session.created',
  agent_id: ID,
  format: 2,
  name: 'a',
  parent: null,
  instructions: null,
  provider: 'exec',
  options: {},
  model: null,
  workspace: '/w',
}

/** This record and the next add the optional fields of the state. */
const KEPT: NewRecord<'server.kept'> = {
  kind: 'server.kept',
  server_id: ID,
  group: { process_group: 1, start_time: 1, kernel_boot_id: 'k', pid_namespace: '1' },
}

const REBUILT: NewRecord<'session.rebuilt'> = {
  kind: 'session.rebuilt',
  kept: 'nothing',
  last_seq: 1,
  delivered: [],
  requests: [],
  keys: [],
}

const SET: NewRecord<'schedule.set'> = {
  ...{ kind: 'schedule.set', schedule_id: ID, name: 'daily', when: 'every 1h', calendar: '0 * * * *' },
  ...{ time_zone: 'UTC', content: 'hi', next_at: '2026-11-20T10:00:00.000Z', every_ms: 3_600_000 },
  ...{ missed: 'once', overlap: 'skip' },
}

const MOVED: NewRecord<'session.moved'> = {
  kind: 'session.moved',
  move_id: ID,
  home_id: ID,
  to: '/a.bundle',
  messages: [],
  content: '[]',
  answered: [],
}

test('the schema of the snapshot has the fields of the file, in their order', () => {
  const imported: NewRecord = {
    ...{ kind: 'session.imported', from: ID, home_id: ID, bundle_id: ID, host_name: 'h' },
  }
  const queued: NewRecord = {
    ...{ kind: 'outbound.queued', outbound_id: ID, target: 'ops', event: 'message', content: '' },
  }
  const cursor: NewRecord = { kind: 'channel.cursor', cursor: '1' }
  const refused: NewRecord = {
    ...{ kind: 'turn.refused', cause: 'gate', code: 'GATED', message: 'no', command: 'substrat send' },
  }
  const { state } = encodeBatch(undefined, [
    CREATED,
    imported,
    KEPT,
    REBUILT,
    queued,
    cursor,
    refused,
    { kind: 'session.configured', allow: ['shell'], on_unknown: ['shell=stop'], context: 'turn' },
    SET,
    { kind: 'session.configured', budget: [{ unit: 'tokens', max: 9 }] },
  ])
  const { moved } = encodeBatch(undefined, [CREATED, MOVED]).state
  const whole = { ...state, timed_out: 1, ...(moved && { moved }) }
  const names = Object.keys(JSON.parse(String(encodeSnapshot(whole, Buffer.alloc(whole.log_bytes)))))
  expect(Object.keys(snapshot.shape)).toEqual(names)
})

test('the schema names first the fields of a run and of the recovery that the fast reader of lists matches', () => {
  expect(Object.keys(snapshot.shape.run.unwrap().shape).slice(0, 2)).toEqual(['run_id', 'boot_id'])
  const { state } = encodeBatch(undefined, [CREATED])
  expect(Object.keys(JSON.parse(String(encodeSnapshot(state))).recovery)).toEqual(
    Object.keys(snapshot.shape.recovery.shape),
  )
})
