/**
 * Folds schedules.
 *
 * Invariants: each record of a slot begins at the `next_at` of its schedule, and `next_at` only rises. So each slot is accounted for
 * exactly once, as fired, skipped or missed, also after jumps of the clock and beside other processes.
 */
import { SessionStateError } from '../../errors.js'
import { dueTime } from '../due-time.js'
import type { NewRecord, Place, SessionRecord } from '../records.js'
import type { Run, Schedule, SlotOutcome, State } from '../state.js'

type Scheduled = NewRecord<
  | 'schedule.set'
  | 'schedule.fired'
  | 'schedule.skipped'
  | 'schedule.missed'
  | 'schedule.ran_now'
  | 'schedule.paused'
  | 'schedule.resumed'
  | 'schedule.removed'
> &
  Place

const RECENT_MAX = 10

export function foldSchedule(next: State, record: Scheduled): State {
  if (record.kind === 'schedule.set') return scheduleSet(next, record)
  const { schedules = [] } = next
  const index = schedules.findIndex(({ schedule_id }) => schedule_id === record.schedule_id)
  const schedule = schedules[index]
  if (schedule === undefined) throw new SessionStateError(`there is no schedule ${record.schedule_id}`)
  if (record.kind === 'schedule.removed') return withSchedules(next, schedules.toSpliced(index, 1))
  return withSchedules(next, schedules.with(index, changed(schedule, record)))
}

function scheduleSet(next: State, record: NewRecord<'schedule.set'> & Place): State {
  const { schedules = [] } = next
  const { kind: _, seq: __, batch: ___, ts: set_at, replaces, until = null, jitter_ms = 0, ...set } = record
  const others = schedules.filter(({ schedule_id }) => schedule_id !== replaces)
  if (others.some(({ schedule_id, name }) => schedule_id === set.schedule_id || name === set.name))
    throw new SessionStateError(`schedule ${set.name} is set twice`)
  const none = { paused_at: null, run_id: null, fired_at: null, busy_since: null, recent: [] }
  return withSchedules(next, [...others, { ...set, set_at, until, jitter_ms, ...none }])
}

function changed(
  schedule: Schedule,
  record: Exclude<Scheduled, NewRecord<'schedule.set' | 'schedule.removed'>>,
): Schedule {
  const { ts } = record
  switch (record.kind) {
    case 'schedule.paused':
      return { ...withPrevented(schedule, 'paused', ts), paused_at: schedule.paused_at ?? ts }
    case 'schedule.resumed':
      return { ...untilNow(schedule, ts), paused_at: null }
    case 'schedule.ran_now':
      return { ...schedule, run_id: record.run_id, busy_since: ts }
    case 'schedule.fired': {
      const { run_id, due_at } = record
      const ran = { from: due_at, to: due_at, count: 1, outcome: 'ran' as const, why: null }
      return {
        ...accounted(schedule, record, { ...ran, run_id, status: 'open' }),
        run_id,
        fired_at: ts,
        busy_since: ts,
      }
    }
    default: {
      const { from, to, count, why } = record
      const outcome = record.kind === 'schedule.skipped' ? 'skipped' : 'missed'
      return accounted(schedule, record, { from, to, count, outcome, why, run_id: null, status: null })
    }
  }
}

function accounted(
  schedule: Schedule,
  { next_at }: Pick<NewRecord<'schedule.fired'>, 'next_at'>,
  slots: SlotOutcome,
): Schedule {
  const { from, to } = slots
  if (from !== schedule.next_at)
    throw new SessionStateError(
      `schedule ${schedule.name} is accounted for until ${schedule.next_at}, not ${from}`,
    )
  if (to < from || (next_at !== null && next_at <= to))
    throw new SessionStateError(`the slots of schedule ${schedule.name} do not rise`)
  const { prevented, ...others } = schedule
  const isPast =
    prevented === undefined || next_at === null || (prevented.to !== null && next_at > prevented.to)
  const kept = isPast ? others : schedule
  return { ...kept, next_at, recent: [...schedule.recent, slots].slice(-RECENT_MAX) }
}

/**
 * A gate or a hold begins or ends. It does not prevent the slots that were due before it: they are missed, and their turn follows when
 * it ends. So a schedule with such slots remembers from when to when its later ones were prevented.
 */
export function withPreventedSlots(schedules: Schedule[], record: SessionRecord, before: State): Schedule[] {
  const { ts } = record
  const { gate, hold } = before
  const begin = (why: 'gated' | 'hold') => schedules.map((each) => withPrevented(each, why, ts))
  const end = () => schedules.map((each) => untilNow(each, ts))
  switch (record.kind) {
    case 'agent.gated':
      return gate.isGated ? schedules : begin('gated')
    case 'agent.ungated':
      return gate.isGated ? end() : schedules
    case 'agent.permitted':
      return !gate.isGated || gate.permits > 0 ? schedules : end()
    case 'session.configured':
      if (record.hold === true && !hold) return begin('hold')
      return record.hold === false && hold ? end() : schedules
    default:
      return schedules
  }
}

function withPrevented(schedule: Schedule, why: 'paused' | 'gated' | 'hold', from: string): Schedule {
  const { next_at, paused_at, prevented } = schedule
  const isOlder = next_at !== null && dueTime(schedule, next_at) <= from
  return isOlder && paused_at === null && prevented === undefined
    ? { ...schedule, prevented: { why, from, to: null } }
    : schedule
}

function untilNow(schedule: Schedule, to: string): Schedule {
  const { prevented } = schedule
  return prevented === undefined ? schedule : { ...schedule, prevented: { ...prevented, to } }
}

/** Applies a record of a run to the schedule of that run. `before`: the state before the record. */
export function withScheduledRun(schedules: Schedule[], record: SessionRecord, before: State): Schedule[] {
  switch (record.kind) {
    case 'run.started':
      return record.continues === undefined
        ? schedules
        : withRun(schedules, record.continues, { run_id: record.run_id, status: 'open' }, record.ts)
    case 'run.resumed':
      // A turn that waited for a decision kept its schedule busy meanwhile. One whose process had died did not.
      return before.run?.wait == null
        ? withRun(schedules, record.run_id, { status: 'open' }, record.ts)
        : schedules
    case 'run.completed':
      return withRun(schedules, record.run_id, { status: 'completed' })
    case 'run.failed':
      return withRun(schedules, record.run_id, { status: 'failed' })
    case 'run.cancelled':
      return withRun(schedules, record.run_id, { status: 'cancelled' })
    case 'run.interrupted':
      return withRun(schedules, record.run_id, { status: 'interrupted' })
    default:
      return schedules
  }
}

function withRun(
  schedules: Schedule[],
  runId: string,
  change: { run_id?: string; status: Run['status'] },
  busySince?: string,
): Schedule[] {
  const index = schedules.findIndex(({ run_id }) => run_id === runId)
  const schedule = schedules[index]
  if (schedule === undefined) return schedules
  const recent = schedule.recent.map((slot) => (slot.run_id === runId ? { ...slot, ...change } : slot))
  const { run_id = runId } = change
  return schedules.with(index, { ...schedule, run_id, busy_since: busySince ?? schedule.busy_since, recent })
}

function withSchedules({ schedules: _, ...rest }: State, schedules: Schedule[]): State {
  return schedules.length === 0 ? rest : { ...rest, schedules }
}
