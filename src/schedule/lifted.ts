/**
 * Accounts for slots that something prevented, when that ends: the records go into the batch of its end. So a schedule that is
 * paused or blocked for a year gets one record, and a kill leaves both or neither.
 */
import type { NewRecord } from '../session/records.js'
import type { Schedule, State } from '../session/state.js'
import { nowIso } from './due.js'
import { missedRecords, skippedRecord } from './missed.js'
import { dueSlotsOf, passedSlotsOf, planSlots } from './plan.js'

type Why = NewRecord<'schedule.skipped'>['why']
type Slots = NewRecord<'schedule.missed' | 'schedule.skipped'>

/** The records with those of the slots. Call it for an agent with schedules. */
export function withSkippedSlots(before: State, records: NewRecord[], now = nowIso()): NewRecord[] {
  let schedules = before.schedules ?? []
  return records.flatMap((record) => {
    const slots = schedules.flatMap((schedule) => {
      const end = endOf(schedule, record, now)
      return end === undefined
        ? liftedSlots(before, schedule, record, now)
        : endedSlots(before, schedule, end.why, end.at)
    })
    for (const { schedule_id, next_at } of slots)
      schedules = schedules.map((each) => (each.schedule_id === schedule_id ? { ...each, next_at } : each))
    return [...slots, record]
  })
}

/** Slots that were due before the cause began are not among them: they keep their turn. See `prevented` of a schedule. */
function liftedSlots(before: State, schedule: Schedule, record: NewRecord, now: string): Slots[] {
  const why = schedule.prevented === undefined ? whyUntil(before, schedule, record) : undefined
  const due = why === undefined ? undefined : dueSlotsOf(schedule, now)
  return why === undefined || due === undefined ? [] : [skippedRecord(schedule, why, due)]
}

/** Why the schedule ends with this record, and up to when its slots are its own. Undefined if it does not end. */
function endOf(
  { schedule_id }: Schedule,
  record: NewRecord,
  now: string,
): { why: Why; at: string } | undefined {
  switch (record.kind) {
    case 'schedule.removed':
      return record.schedule_id === schedule_id ? { why: 'removed', at: now } : undefined
    case 'session.terminated':
      return { why: 'terminated', at: now }
    case 'schedule.set': {
      if (record.replaces !== schedule_id) return undefined
      // The slots from the first one of the replacement on are its own, also if one has come since that was computed.
      const end = new Date(Date.parse(record.next_at) - 1).toISOString()
      return { why: 'replaced', at: end < now ? end : now }
    }
    default:
      return undefined
  }
}

/**
 * The slots of a schedule that ends, also the one whose jitter has not passed: nothing could run it later. Only the slots that would
 * have a turn now are skipped because of the end. The earlier ones were missed.
 */
function endedSlots(before: State, schedule: Schedule, why: Why, now: string): Slots[] {
  const all = passedSlotsOf(schedule, now)
  if (all === undefined) return []
  const { prevented } = schedule
  if (prevented !== undefined) {
    const older = dueSlotsOf(schedule, prevented.from < now ? prevented.from : now)
    const of = { ...schedule, next_at: older === undefined ? schedule.next_at : older.next }
    const during = passedSlotsOf(of, prevented.to !== null && prevented.to < now ? prevented.to : now)
    const since = passedSlotsOf({ ...of, next_at: during === undefined ? of.next_at : during.next }, now)
    return [
      ...(older === undefined ? [] : missedRecords(schedule, before, older)),
      ...(during === undefined ? [] : [skippedRecord(schedule, prevented.why, during)]),
      ...(since === undefined ? [] : [skippedRecord(schedule, why, since)]),
    ]
  }
  const obstacle = obstacleOf(before, schedule)
  const isBusy = before.run?.status === 'open' && isOverlap(schedule, before.run.run_id)
  if (obstacle !== undefined || isBusy) return [skippedRecord(schedule, obstacle ?? why, all)]
  const { turn, records } = planSlots(schedule, before, now)
  const missed = turn?.missed === undefined ? records : missedRecords(schedule, before, turn.missed)
  const next_at = turn?.slot ?? missed.at(-1)?.next_at ?? all.first
  const others = passedSlotsOf({ ...schedule, next_at }, now)
  return [...missed, ...(others === undefined ? [] : [skippedRecord(schedule, why, others)])]
}

function obstacleOf({ gate, hold }: State, { paused_at }: Schedule): Why | undefined {
  if (paused_at !== null) return 'paused'
  if (gate.isGated && gate.permits === 0) return 'gated'
  return hold ? 'hold' : undefined
}

/** The cause that prevented the due slots of the schedule, if this record ends it. */
function whyUntil(before: State, { paused_at, ...schedule }: Schedule, record: NewRecord): Why | undefined {
  if (record.kind === 'schedule.resumed')
    return record.schedule_id === schedule.schedule_id && paused_at !== null ? 'paused' : undefined
  if (paused_at !== null) return undefined
  switch (record.kind) {
    case 'agent.ungated':
    case 'agent.permitted':
      return before.gate.isGated && before.gate.permits === 0 ? 'gated' : undefined
    case 'session.configured':
      return before.hold && record.hold === false ? 'hold' : undefined
    case 'run.resumed':
      return isForBudget(before, schedule, record.run_id) ? 'budget' : undefined
    case 'run.completed':
    case 'run.failed':
    case 'run.cancelled':
      if (isForBudget(before, schedule, record.run_id)) return 'budget'
      return isOverlap(schedule, record.run_id) ? 'overlap' : undefined
    default:
      return undefined
  }
}

/** Then no schedule of the agent could begin a turn. Slots that are older than the turn were missed. */
function isForBudget({ run }: State, { next_at }: Pick<Schedule, 'next_at'>, runId: string): boolean {
  return run?.run_id === runId && run.wait?.kind === 'budget' && (next_at ?? '') >= run.started_at
}

/**
 * Whether the due slots came during the run of an earlier slot. If one of them is older, no command came in time, and they are missed
 * together: a turn that continued after a week does not hide that week.
 */
function isOverlap(
  { overlap, run_id, busy_since, next_at }: Omit<Schedule, 'paused_at'>,
  runId: string,
): boolean {
  return overlap === 'skip' && run_id === runId && busy_since !== null && (next_at ?? '') >= busy_since
}
