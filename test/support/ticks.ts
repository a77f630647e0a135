/** Schedules under a virtual clock. */
import { onTestFinished } from 'vitest'
import { clock } from '../../src/clock.js'
import { deliver } from '../../src/operations/deliver.js'
import { addSchedule, type NewSchedule } from '../../src/operations/schedule/add.js'
import type { SessionRecord } from '../../src/session/records.js'
import type { Store } from '../../src/storage/store.js'
import { contextAt } from './contexts.js'
import { recordsOf } from './sessions.js'

/** The time is this one until the next call. Each call is the beginning of a command. */
export function setTime(iso: string): void {
  const at = Date.parse(iso)
  const { now, beganAt } = before ?? clock
  if (before === undefined) {
    before = { now, beganAt }
    onTestFinished(() => {
      Object.assign(clock, before)
      before = undefined
    })
  }
  Object.assign(clock, { now: () => at, beganAt: at })
}

let before: Pick<typeof clock, 'now' | 'beganAt'> | undefined

/** `deliver --all` at that time. */
export async function tickAt(store: Store, iso: string): Promise<string[]> {
  setTime(iso)
  // A turn may wait for a person for longer than a slot.
  const { ctx, notes } = contextAt(store, { bounds: { tokenLifetimeMs: 7 * 24 * 3_600_000 } })
  await deliver(ctx, { all: true, agentIds: [] }, () => undefined)
  return notes
}

export async function scheduled(
  store: Store,
  agentId: string,
  wanted: Partial<NewSchedule> = {},
): Promise<string> {
  const usual = {
    when: 'every 1h',
    content: 'go',
    name: 'hourly',
    zone: 'UTC',
    missed: 'once',
    overlap: 'skip',
  }
  const others = { until: null, jitter_ms: 0 }
  const { schedule } = await addSchedule(contextAt(store).ctx, agentId, {
    ...(usual as NewSchedule),
    ...others,
    ...wanted,
  })
  return schedule.schedule_id
}

/** The records of slots, in short: `ran 10:00`, `missed 11:00-13:00 3 late`. */
export function slotsIn(store: Store, agentId: string): string[] {
  return recordsOf(store, agentId).flatMap((record): string[] => {
    if (record.kind === 'schedule.fired') return [`ran ${time(record.due_at)}`]
    if (record.kind !== 'schedule.skipped' && record.kind !== 'schedule.missed') return []
    const { from, to, count, why } = record
    return [`${record.kind.slice('schedule.'.length)} ${time(from)}-${time(to)} ${count} ${why}`]
  })
}

export function messagesIn(store: Store, agentId: string): SessionRecord<'mail.delivered'>[] {
  return recordsOf(store, agentId).filter((record) => record.kind === 'mail.delivered')
}

/** Without the day, for tests within one. */
function time(iso: string): string {
  return iso.slice(11, 16)
}
