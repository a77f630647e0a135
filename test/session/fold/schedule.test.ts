import { expect, test } from 'vitest'
import type { NewRecord } from '../../../src/session/records.js'
import { newSession } from '../../support/sessions.js'
import { tempStore } from '../../support/temp.js'

const ID = '0b9f6c1e-6f0a-4c55-9a3b-2f1f5a3c7d10'
const at = (hour: number): string => `2026-11-20T${hour}:00:00.000Z`
const NAMED = { schedule_id: ID, name: 'hourly' }

const SET: NewRecord<'schedule.set'> = {
  ...{ kind: 'schedule.set', ...NAMED, when: 'every 1h', calendar: '0 * * * *', time_zone: 'UTC' },
  ...{ content: 'go', next_at: at(10), every_ms: 3_600_000, missed: 'once', overlap: 'skip' },
}

const missed = (from: number, to: number, next: number): NewRecord<'schedule.missed'> => ({
  ...{ kind: 'schedule.missed', ...NAMED, why: 'late', from: at(from), to: at(to), count: to - from + 1 },
  next_at: at(next),
})

test('records of slots follow each other without a gap', async () => {
  const session = await newSession(tempStore())
  session.append([SET, missed(10, 12, 13), missed(13, 13, 14)])
  expect(session.state.schedules).toMatchObject([{ next_at: at(14) }])
  await session.abandon()
})

test.each([
  ['a slot that is accounted for', missed(10, 10, 14)],
  ['a slot after the next one', missed(14, 14, 15)],
  ['a next slot that is accounted for', missed(13, 15, 15)],
  ['another schedule of the same name', { ...SET, schedule_id: ID.replace('0', '1') }],
  ['the same schedule', SET],
  ['a schedule that is not set', { ...missed(13, 13, 14), schedule_id: ID.replace('0', '1') }],
])('%s is refused', async (_, record) => {
  const session = await newSession(tempStore())
  session.append([SET, missed(10, 12, 13)])
  expect(() => session.append([record])).toThrow(/schedule/)
  expect(session.state.schedules).toMatchObject([{ next_at: at(13) }])
  await session.abandon()
})

test('the latest ten outcomes stay in the state', async () => {
  const session = await newSession(tempStore())
  session.append([SET])
  for (let hour = 10; hour < 22; hour++) session.append([missed(hour, hour, hour + 1)])
  const [{ recent } = { recent: [] }] = session.state.schedules ?? []
  expect(recent.map(({ from }) => from)).toEqual(Array.from({ length: 10 }, (_, index) => at(12 + index)))
  await session.abandon()
})
