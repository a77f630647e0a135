/**
 * Durations that run while no substrat process runs: the validity of a token, the wait for a rate limit, the delay of mail.
 *
 * Invariants:
 * - A duration never lasts longer than intended, however far the wall clock is set back. It ends early only if the wall clock
 *   jumps ahead.
 * - A duration that has ended by the uptime of its boot has ended for good: an expired token never becomes valid again.
 * - A writer that finds the clock behind the start of a duration rebases it once (`clock.set_back`). From then on the
 *   wall clock counts again.
 *
 * If an end has no clock reading, the user named it as a time, or the log is older. The wall clock alone then decides.
 */
import { clock } from '../clock.js'
import { type ClockReading, readClock } from '../host/identity.js'

/** When something is due. `clock` is the reading at the start of the duration; null if the user named `at` as a time. */
export interface DueTime {
  /** ISO 8601. */
  at: string
  clock: ClockReading | null
}

export function dueAfter(ms: number): DueTime {
  return { at: new Date(clock.now() + ms).toISOString(), clock: readClock() }
}

/** A smaller step backwards is ignored. It delays the end of a duration by no more than this. */
const SET_BACK_MS_MIN = 60_000

/** `/proc/uptime` is rounded down to this step, so two readings may differ by that much more than the elapsed time. */
const UPTIME_STEP_MS = 10

/** Whether the duration that began at `began` and ends at `end` (both by the clock of its beginning) is over. */
export function isOver(end: string, began: ClockReading | null | undefined, now: ClockReading): boolean {
  if (!began) return end <= now.at
  if (began.at <= now.at && end <= now.at) return true
  const elapsedMs = elapsedByUptime(began, now)
  return elapsedMs !== undefined && elapsedMs >= lengthMs(end, began) + UPTIME_STEP_MS
}

/** Whether the clock was set back, by more than `SET_BACK_MS_MIN`, since the duration began. */
export function isSetBack(began: ClockReading | null | undefined, now: ClockReading): boolean {
  return began != null && Date.parse(began.at) - Date.parse(now.at) > SET_BACK_MS_MIN
}

/** The end by the clock of `now`. If the uptimes cannot be compared, the duration starts again. */
export function rebasedEnd(end: string, began: ClockReading, now: ClockReading): string {
  const leftMs = Math.max(0, lengthMs(end, began) - (elapsedByUptime(began, now) ?? 0))
  return new Date(Date.parse(now.at) + leftMs).toISOString()
}

function lengthMs(end: string, began: ClockReading): number {
  return Date.parse(end) - Date.parse(began.at)
}

/** Undefined if the two readings are not from the same boot. */
function elapsedByUptime(began: ClockReading, now: ClockReading): number | undefined {
  const elapsedMs = now.uptime_ms - began.uptime_ms
  return began.kernel_boot_id === now.kernel_boot_id && elapsedMs >= 0 ? elapsedMs : undefined
}
