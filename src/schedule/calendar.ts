/**
 * The slots of a calendar, by croner. Only an agent with a schedule loads it.
 *
 * A slot is a minute in UTC. A time of day that a change to summer time leaves out is at the end of the gap, and one that occurs twice
 * counts once. A calendar with a wildcard or a step in its minutes or hours follows the wall clock through both.
 */
import { Cron } from 'croner'
import type { Schedule } from '../session/state.js'

export type Calendar = Pick<Schedule, 'calendar' | 'time_zone'>
type Bounded = Calendar & Pick<Schedule, 'until'>

export interface Slots {
  last: string
  count: number
  /** The first slot after them. Null if there is none. */
  next: string | null
}

export type Range = Slots & { first: string }

const DAY_MS = 24 * 3600 * 1000

/** Throws if the expression or the zone cannot be read. */
function cronOf({ calendar, time_zone }: Calendar): Cron {
  const key = `${time_zone} ${calendar}`
  const known = crons.get(key)
  if (known !== undefined) return known
  const cron = new Cron(calendar, { timezone: time_zone, mode: '5-part', fixedTimeRule: 'no-wildcard' })
  crons.set(key, cron)
  return cron
}

const crons = new Map<string, Cron>()

/** Null if there is none, or none up to `until`. */
export function slotAfter(schedule: Bounded, at: string): string | null {
  const next = cronOf(schedule).nextRun(new Date(at))?.toISOString() ?? null
  return next === null || (schedule.until !== null && next > schedule.until) ? null : next
}

/** Whether slots after now are accounted for: the clock was ahead for a while. */
export function isAhead(schedule: Bounded & Pick<Schedule, 'next_at'>, now: string): boolean {
  const byCalendar = slotAfter(schedule, now)
  return schedule.next_at !== null && byCalendar !== null && schedule.next_at > byCalendar
}

/** The slots from `first`, which is one, up to `to`. Takes some milliseconds for each year of any calendar. */
export function slotsUntil(schedule: Bounded, first: string, to: string): Slots {
  const days = new OrdinaryDays(schedule.time_zone)
  let count = 1
  let last = Date.parse(first)
  const end = Date.parse(to)
  const { until } = schedule
  const wholeUntil = until === null ? end : Math.min(end, Date.parse(until))
  for (;;) {
    const next = slotAfter(schedule, new Date(last).toISOString())
    const at = next === null ? Number.POSITIVE_INFINITY : Date.parse(next)
    if (at > end) return { last: new Date(last).toISOString(), count, next }
    const day = days.wholeDay(at, last, wholeUntil)
    if (day === undefined) {
      days.add(at)
      count += 1
      last = at
    } else {
      count += day.count
      last = day.last
    }
  }
}

/**
 * Counts a day at once if its clock has no change: each such day with a slot has the same ones. The first is counted slot by slot.
 */
class OrdinaryDays {
  private known: { count: number; lastInDay: number } | undefined
  private begun: { start: number; count: number; last: number } | undefined

  constructor(private readonly timeZone: string) {}

  /** The slots of the day of `at`, if that is its first slot and the day ends before `end`. */
  wholeDay(at: number, before: number, end: number): { count: number; last: number } | undefined {
    if (this.begun !== undefined && at < this.begun.start + DAY_MS) return undefined
    const { begun } = this
    this.begun = undefined
    if (begun !== undefined) this.known ??= { count: begun.count, lastInDay: begun.last - begun.start }
    const start = this.startOfDay(at)
    if (start === undefined || before >= start) return undefined
    if (this.known === undefined) {
      this.begun = { start, count: 0, last: at }
      return undefined
    }
    const { count, lastInDay } = this.known
    return start + DAY_MS > end ? undefined : { count, last: start + lastInDay }
  }

  add(at: number): void {
    if (this.begun === undefined) return
    this.begun.count += 1
    this.begun.last = at
  }

  /** Undefined on a day with a change of the clock. */
  private startOfDay(at: number): number | undefined {
    const offset = offsetAt(at, this.timeZone)
    const start = at - ((((at + offset) % DAY_MS) + DAY_MS) % DAY_MS)
    const isOrdinary = [start, start + DAY_MS].every((each) => offsetAt(each, this.timeZone) === offset)
    return isOrdinary ? start : undefined
  }
}

/** The local time minus UTC. */
function offsetAt(at: number, timeZone: string): number {
  let format = formats.get(timeZone)
  if (format === undefined) {
    const parts = {
      year: 'numeric',
      month: 'numeric',
      day: 'numeric',
      hour: 'numeric',
      minute: 'numeric',
    } as const
    format = new Intl.DateTimeFormat('en-US', { timeZone, hourCycle: 'h23', ...parts, second: 'numeric' })
    formats.set(timeZone, format)
  }
  const part = Object.fromEntries(format.formatToParts(at).map(({ type, value }) => [type, Number(value)]))
  const { year = 0, month = 1, day, hour, minute, second } = part
  return Date.UTC(year, month - 1, day, hour, minute, second) - Math.floor(at / 1000) * 1000
}

const formats = new Map<string, Intl.DateTimeFormat>()
