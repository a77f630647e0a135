/** The records of slots without a turn: one for each run of slots with the same cause. */
import type { NewRecord } from '../session/records.js'
import type { Schedule, State } from '../session/state.js'
import { type Range, slotsUntil } from './calendar.js'

type Missed = NewRecord<'schedule.missed'>
type Skipped = NewRecord<'schedule.skipped'>

export function skippedRecord(schedule: Schedule, why: Skipped['why'], range: Range): Skipped {
  const { first: from, last: to, count, next: next_at } = range
  const { schedule_id, name } = schedule
  return { kind: 'schedule.skipped', schedule_id, name, why, from, to, count, next_at }
}

/** Slots before a turn began were late, also if later ones came during the turn. */
export function missedRecords(schedule: Schedule, state: State, range: Range): Missed[] {
  const { schedule_id, name } = schedule
  const times = changesOfCause(schedule, state)
  const records: Missed[] = []
  for (let first: string | null = range.first; first !== null && first <= range.last; ) {
    const from: string = first
    const why = causeOf(schedule, state, from)
    const change = times.find((time) => time > from && causeOf(schedule, state, time) !== why)
    const end = change === undefined || change > range.last ? range.last : before(change)
    const { last: to, count, next: next_at } = rangeUntil(schedule, from, end, range)
    records.push({ kind: 'schedule.missed', schedule_id, name, why, from, to, count, next_at })
    first = next_at
  }
  return records
}

function rangeUntil(schedule: Schedule, first: string, end: string, all: Range): Range {
  return first === all.first && end === all.last ? all : { first, ...slotsUntil(schedule, first, end) }
}

function before(time: string): string {
  return new Date(Date.parse(time) - 1).toISOString()
}

function changesOfCause(schedule: Schedule, state: State): string[] {
  const { run, refused = [] } = state
  const ends = run?.ended_at == null ? [] : [new Date(Date.parse(run.ended_at) + 1).toISOString()]
  const refusals = refused.flatMap(({ past, since }) => (past === true ? [] : [since]))
  return [beginOf(schedule, state) ?? [], ends, refusals].flat().sort()
}

/** The process of the run may have died, and a later one have continued it. */
function beginOf({ run_id, busy_since }: Schedule, { run }: State): string | undefined {
  return run !== null && run.run_id === run_id ? (busy_since ?? run.started_at) : run?.started_at
}

function causeOf(schedule: Schedule, state: State, from: string): Missed['why'] {
  const { run, refused = [] } = state
  const began = beginOf(schedule, state)
  if (began !== undefined && began <= from && (run?.ended_at ?? from) >= from) return 'busy'
  return refused.some(({ past, since }) => past !== true && since <= from) ? 'refused' : 'late'
}
