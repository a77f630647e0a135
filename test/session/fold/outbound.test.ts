import { randomUUID } from 'node:crypto'
import { expect, test } from 'vitest'
import type { NewRecord } from '../../../src/session/records.js'
import { foldAll, timeOf } from '../../support/folding.js'
import { createdRecord, startedRun } from '../../support/sessions.js'

const [RUN, ID] = [randomUUID() as string, randomUUID() as string]
const ACTIVATED: NewRecord = { kind: 'session.activated', boot_id: 'b' }
const CREATED = [createdRecord(randomUUID(), { name: 'a' }), ACTIVATED, startedRun(RUN)]
const QUEUED: NewRecord = {
  ...{ kind: 'outbound.queued', outbound_id: ID, target: 'ops', event: 'failed', run_id: RUN },
  content: 'text',
}

function failed(attempt: number): NewRecord {
  const clock = { at: timeOf(attempt), kernel_boot_id: 'k', uptime_ms: attempt }
  return { kind: 'outbound.failed', outbound_id: ID, attempt, why: 'no', not_before: timeOf(attempt), clock }
}

test('an outbound message is queued once', () => {
  expect(() => foldAll([...CREATED, QUEUED, QUEUED])).toThrow(`outbound message ${ID} is queued twice`)
})

test('the result of an earlier attempt that comes late changes nothing', () => {
  const { outbound } = foldAll([...CREATED, QUEUED, failed(2), failed(1)])
  expect(outbound).toMatchObject([{ attempts: 2, not_before: timeOf(2) }])
})

test('attempts of unknown outcome are those that began, without those that showed nothing, in any order of the records', () => {
  const began = (attempt: number): NewRecord => ({ kind: 'outbound.attempted', outbound_id: ID, attempt })
  const notShown = { ...failed(1), not_shown: true } as NewRecord
  for (const records of [
    [began(1), notShown, began(2)],
    [notShown, began(2), began(1)],
  ])
    expect(foldAll([...CREATED, QUEUED, ...records]).outbound).toMatchObject([
      { begun: 2, not_shown: 1, attempts: 1 },
    ])
  expect(foldAll([...CREATED, QUEUED, began(1), failed(1)]).outbound?.[0]).not.toHaveProperty('not_shown')
})

test('the state forgets a message that was sent or dropped, and a second result of it changes nothing', () => {
  const sent: NewRecord = { kind: 'outbound.sent', outbound_id: ID, attempt: 1 }
  const dropped: NewRecord = { kind: 'outbound.dropped', outbound_id: ID, reason: 'expired' }
  for (const results of [[sent], [dropped], [sent, failed(1), dropped]])
    expect(foldAll([...CREATED, QUEUED, ...results]).outbound).toBe(undefined)
})
