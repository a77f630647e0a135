/** Which slots are due. Without croner, because lists ask it of many agents. */
import { clock } from '../clock.js'
import { dueTime } from '../session/due-time.js'
import type { Schedule, State } from '../session/state.js'

/** When the next slot is due. Null if there is none, or the schedule is paused. */
export function nextDueTime(schedule: Schedule): string | null {
  const { next_at, paused_at } = schedule
  return next_at === null || paused_at !== null ? null : dueTime(schedule, next_at)
}

function isSlotDue(schedule: Schedule, now: string): boolean {
  const due = nextDueTime(schedule)
  return due !== null && due <= now
}

/**
 * The same for this command. A slot later than its beginning is due at most once: otherwise a command whose turns last longer than the
 * time between two slots would never end.
 */
export function isSlotDueHere(schedule: Schedule, now: string): boolean {
  if (!isSlotDue(schedule, now)) return false
  const began = new Date(clock.beganAt).toISOString()
  return (schedule.next_at as string) <= began || schedule.fired_at === null || schedule.fired_at < began
}

export function hasDueSlot({ schedules = [] }: Pick<State, 'schedules'>, now: string): boolean {
  return schedules.some((schedule) => isSlotDueHere(schedule, now))
}

/** Whether one of its schedules needs a command at a later time. */
export function hasNextSlot({ schedules = [] }: Pick<State, 'schedules'>): boolean {
  return schedules.some(({ next_at, paused_at }) => next_at !== null && paused_at === null)
}

export function nowIso(): string {
  return new Date(clock.now()).toISOString()
}
