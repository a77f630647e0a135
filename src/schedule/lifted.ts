/**
 * Accounts for slots that something prevented, when that ends: the records go into the batch of its end. So a schedule that is
 * paused or blocked for a year gets one record, and a kill leaves both or neither.
 */
import type { NewRecord } from '../session/records.js'
import type { Schedule, State } from '../session/state.js'
import { nowIso } from './due.js'
import { dueSlotsOf, passedSlotsOf, type Range } from './plan.js'

type Why = NewRecord<'schedule.skipped'>['why']

/** The records with those of the slots. Call it for an agent with schedules. */
export function withSkippedSlots(before: State, records: NewRecord[], now = nowIso()): NewRecord[] {
  let schedules = before.schedules ?? []
  return records.flatMap((record) => {
    const skipped = schedules.flatMap((schedule): NewRecord<'schedule.skipped'>[] => {
      const why = whyUntil(before, schedule, record)
      const due = why === undefined ? undefined : slotsOf(schedule, record, now)
      if (why === undefined || due === undefined) return []
      const { first: from, last: to, count, next: next_at } = due
      const { schedule_id, name } = schedule
      return [{ kind: 'schedule.skipped', schedule_id, name, why, from, to, count, next_at }]
    })
    for (const { schedule_id, next_at } of skipped)
      schedules = schedules.map((each) => (each.schedule_id === schedule_id ? { ...each, next_at } : each))
    return [...skipped, record]
  })
}

/** If the schedule ends, also the slot whose jitter has not passed: nothing could run it later. */
function slotsOf(schedule: Schedule, record: NewRecord, now: string): Range | undefined {
  switch (record.kind) {
    case 'schedule.removed':
    case 'session.terminated':
      return passedSlotsOf(schedule, now)
    case 'schedule.set': {
      // The slots from the first one of the replacement on are its own, also if one has come since that was computed.
      const end = new Date(Date.parse(record.next_at) - 1).toISOString()
      return passedSlotsOf(schedule, end < now ? end : now)
    }
    default:
      return dueSlotsOf(schedule, now)
  }
}

/** The cause that prevented the due slots of the schedule, if this record ends it. */
function whyUntil(before: State, schedule: Schedule, record: NewRecord): Why | undefined {
  const { schedule_id, paused_at } = schedule
  switch (record.kind) {
    case 'schedule.resumed':
      return record.schedule_id === schedule_id && paused_at !== null ? 'paused' : undefined
    case 'schedule.removed':
      return record.schedule_id !== schedule_id ? undefined : paused_at === null ? 'removed' : 'paused'
    case 'schedule.set':
      return record.replaces !== schedule_id ? undefined : paused_at === null ? 'replaced' : 'paused'
    case 'session.terminated':
      return paused_at === null ? 'terminated' : 'paused'
  }
  if (paused_at !== null) return undefined
  switch (record.kind) {
    case 'agent.ungated':
    case 'agent.permitted':
      return before.gate.isGated && before.gate.permits === 0 ? 'gated' : undefined
    case 'session.configured':
      return before.hold && record.hold === false ? 'hold' : undefined
    case 'run.resumed':
      return waitsForBudget(before, record.run_id) ? 'budget' : undefined
    case 'run.completed':
    case 'run.failed':
    case 'run.cancelled':
      if (waitsForBudget(before, record.run_id)) return 'budget'
      return isOverlap(schedule, record.run_id) ? 'overlap' : undefined
    default:
      return undefined
  }
}

/** Then no schedule of the agent could begin a turn. */
function waitsForBudget({ run }: State, runId: string): boolean {
  return run?.run_id === runId && run.wait?.kind === 'budget'
}

/**
 * Whether the due slots came during the run of an earlier slot. If one of them is older, no command came in time, and they are missed
 * together: a turn that continued after a week does not hide that week.
 */
function isOverlap({ overlap, run_id, busy_since, next_at }: Schedule, runId: string): boolean {
  return overlap === 'skip' && run_id === runId && busy_since !== null && (next_at ?? '') >= busy_since
}
