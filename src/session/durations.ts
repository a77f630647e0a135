/**
 * Durations that run while no process of ours does: how long a token is good, when a limit is over, when delayed mail is due.
 *
 * Invariants: a duration lasts no longer than it was to last, however the wall clock is set back, and ends early only where
 * the wall clock jumps ahead. What is over by the uptime of its boot is over for good: an expired token never revives. A
 * writer that finds the clock behind the beginning of a duration rebases it once (`clock.set_back`); from then on the clock
 * counts again.
 *
 * An end without a reading is a time that somebody named, or one of an older log: the wall clock alone decides.
 */
import { clock } from '../clock.js'
import { type ClockReading, readClock } from '../host/identity.js'

/** When something is due: at a time that somebody named (no reading), or after a duration that began by that reading. */
export interface DueTime {
  /** ISO 8601. */
  at: string
  clock: ClockReading | null
}

export function dueAfter(ms: number): DueTime {
  return { at: new Date(clock.now() + ms).toISOString(), clock: readClock() }
}

/** The clock may run backwards by so much without a word: what it delays is delayed by no more. */
const SET_BACK_MS_MIN = 60_000

/** `/proc/uptime` counts in such steps, rounded down: by two readings something could seem over that much too early. */
const UPTIME_STEP_MS = 10

/** Whether the duration that began at `began` and ends at `end` (both by the clock of its beginning) is over. */
export function isOver(end: string, began: ClockReading | null | undefined, now: ClockReading): boolean {
  if (!began) return end <= now.at
  if (began.at <= now.at && end <= now.at) return true
  const elapsedMs = elapsedByUptime(began, now)
  return elapsedMs !== undefined && elapsedMs >= lengthMs(end, began) + UPTIME_STEP_MS
}

/** Whether the clock was set back, by more than it may drift, since the duration began. */
export function isSetBack(began: ClockReading | null | undefined, now: ClockReading): boolean {
  return began != null && Date.parse(began.at) - Date.parse(now.at) > SET_BACK_MS_MIN
}

/** Its end by the clock of `now`. Where no uptime says how much of it is over, all of it is still to come. */
export function rebasedEnd(end: string, began: ClockReading, now: ClockReading): string {
  const leftMs = Math.max(0, lengthMs(end, began) - (elapsedByUptime(began, now) ?? 0))
  return new Date(Date.parse(now.at) + leftMs).toISOString()
}

function lengthMs(end: string, began: ClockReading): number {
  return Date.parse(end) - Date.parse(began.at)
}

/** Undefined across a start of the kernel, and where the numbers cannot be of one boot. */
function elapsedByUptime(began: ClockReading, now: ClockReading): number | undefined {
  const elapsedMs = now.uptime_ms - began.uptime_ms
  return began.kernel_boot_id === now.kernel_boot_id && elapsedMs >= 0 ? elapsedMs : undefined
}
