/**
 * Decides what becomes of due slots, pure: the slot that gets the next turn, and the records of the others. The caller appends the
 * records of a turn in one batch with its beginning, so a crash leaves all of them or none.
 */
import { readableTime } from '../clock.js'
import { limits } from '../limits.js'
import { dueTime } from '../session/due-time.js'
import type { NewRecord } from '../session/records.js'
import type { Schedule, State } from '../session/state.js'
import { type Range, type Slots, slotAfter, slotsUntil } from './calendar.js'
import { missedRecords, skippedRecord } from './missed.js'

/** The records of a slot, for the batch that begins its turn. */
export type SlotRecord =
  | NewRecord<'schedule.missed'>
  | Omit<NewRecord<'schedule.fired'>, 'run_id'>
  | Omit<NewRecord<'schedule.ran_now'>, 'run_id'>

interface SlotTurn {
  /** Its `due_at`. */
  slot: string
  next_at: string | null
  /** The slots before it that this turn stands for. */
  missed: Range | undefined
  /** Whether the message names them. */
  isMadeUp: boolean
}

export interface SlotPlan {
  turn: SlotTurn | undefined
  /** Without a turn: the records that the caller appends by themselves. */
  records: NewRecord<'schedule.missed' | 'schedule.skipped'>[]
}

/** Call it for a schedule with a due slot. */
export function planSlots(schedule: Schedule, state: State, now: string): SlotPlan {
  const { prevented } = schedule
  const due = dueSlotsOf(schedule, earlierOf(now, prevented?.from))
  if (prevented !== undefined && due === undefined) {
    const during = dueSlotsOf(schedule, earlierOf(now, prevented.to))
    const records = during === undefined ? [] : [skippedRecord(schedule, prevented.why, during)]
    return { turn: undefined, records }
  }
  if (due === undefined) return { turn: undefined, records: [] }
  const { first, last, count, next } = due
  const { missed: policy } = schedule
  if (policy === 'all' && count <= limits.slotsMadeUpMax) {
    const next_at = count === 1 ? next : slotAfter(schedule, first)
    return { turn: { slot: first, next_at, missed: undefined, isMadeUp: false }, records: [] }
  }
  const isLate = policy === 'skip' && isTooLate(schedule, state, last, now)
  if (isLate) return { turn: undefined, records: missedRecords(schedule, state, due) }
  const missed = count === 1 ? undefined : slotsBefore(schedule, due)
  return { turn: { slot: last, next_at: next, missed, isMadeUp: policy !== 'skip' }, records: [] }
}

function earlierOf(now: string, time: string | null | undefined): string {
  return time == null || now < time ? now : time
}

/** Every slot that is due. Undefined if none is. */
export function dueSlotsOf(schedule: Schedule, now: string): Range | undefined {
  const { next_at: first } = schedule
  if (first === null || dueTime(schedule, first) > now) return undefined
  const range = passedSlotsOf(schedule, now) as Range
  // The jitter is shorter than the time between two slots, so only the last one may not be due yet.
  return range.count > 1 && dueTime(schedule, range.last) > now ? slotsBefore(schedule, range) : range
}

/** Every slot up to now, also one whose jitter has not passed. Undefined if no slot has. */
export function passedSlotsOf(schedule: Schedule, now: string): Range | undefined {
  const { next_at: first } = schedule
  if (first === null || first > now) return undefined
  const known = passed.get(schedule)
  if (known !== undefined && known.last <= now && (known.next === null || known.next > now)) return known
  // The slots since the last count go on from its last one.
  const isLonger = known !== undefined && known.last <= now
  const range = isLonger
    ? sum(known, slotsUntil(schedule, known.last, now))
    : { first, ...slotsUntil(schedule, first, now) }
  passed.set(schedule, range)
  return range
}

function sum(known: Range, { last, count, next }: Slots): Range {
  return { first: known.first, last, count: known.count - 1 + count, next }
}

/**
 * A year of slots costs some milliseconds, and each turn of a visit asks for those of every due schedule. A record of a schedule makes
 * a new object of it, so a count never outlives its `next_at`.
 */
const passed = new WeakMap<Schedule, Range>()
const before = new WeakMap<Range, Range>()

/** The same slots without the last one. There are at least two. */
function slotsBefore(schedule: Schedule, range: Range): Range {
  const known = before.get(range)
  if (known !== undefined) return known
  const { first, last } = range
  const end = new Date(Date.parse(last) - 1).toISOString()
  const shorter = { first, ...slotsUntil(schedule, first, end), next: last }
  before.set(range, shorter)
  return shorter
}

/** A turn that delayed the slot does not make it late. */
function isTooLate(schedule: Schedule, { run }: State, slot: string, now: string): boolean {
  const due = dueTime(schedule, slot)
  const free = run?.ended_at != null && run.started_at <= due && run.ended_at > due ? run.ended_at : due
  return Date.parse(now) - Date.parse(free) > limits.slotLateMs
}

/** The sentence of the message about the slots that it stands for. */
export function missedText(schedule: Schedule, { first: from, last: to, count }: Range): string {
  const many = count > limits.slotsNamedMax
  const times = many
    ? `from ${readableTime(from)} to ${readableTime(to)}`
    : slotTimes(schedule, from, count).join(', ')
  const what = count === 1 ? '1 time of this schedule was' : `${count} times of this schedule were`
  return `[${what} missed, and this message stands for ${count === 1 ? 'it' : 'them'} too: ${times}]`
}

function slotTimes(schedule: Schedule, from: string, count: number): string[] {
  const times: string[] = []
  for (let at: string | null = from; at !== null && times.length < count; at = slotAfter(schedule, at))
    times.push(readableTime(at))
  return times
}
