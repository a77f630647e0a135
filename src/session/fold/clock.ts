/** Folds `clock.set_back`: restarts each duration that is set back, with its remaining time, by the current clock. */
import type { ClockReading } from '../../host/identity.js'
import { isSetBack, rebasedEnd } from '../durations.js'
import type { Run, State } from '../state.js'
import { openWait } from '../status.js'
import { awaitedToken } from './tokens.js'

/** Whether a running duration began when the clock was ahead of `now`. */
export function needsRebase(state: State, now: ClockReading): boolean {
  if (state.state === 'terminated') return false
  const wait = openWait(state)
  return [wait, awaitedToken(state, wait), ...state.reminders].some((timed) => isSetBack(timed?.clock, now))
}

export function rebaseClock(state: State, now: ClockReading): State {
  const { run } = state
  return {
    ...state,
    run: run === null ? null : rebasedRun(run, now),
    tokens: state.tokens.map((token) => rebasedField(token, 'expires_at', now)),
    reminders: state.reminders.map((reminder) => rebasedField(reminder, 'due_at', now)),
  }
}

function rebasedRun(run: Run, now: ClockReading): Run {
  if (run.wait === null) return run
  const field = run.wait.kind === 'not_before' ? 'not_before' : 'deadline_at'
  return { ...run, wait: rebasedField(run.wait, field, now) }
}

/** Rebases an object whose duration ends at `field`. */
export function rebasedField<
  F extends string,
  T extends { clock?: ClockReading | null } & { [K in F]: string | null },
>(timed: T, field: F, now: ClockReading): T {
  const { clock } = timed
  const end: string | null = timed[field]
  if (clock == null || end === null || !isSetBack(clock, now)) return timed
  return { ...timed, [field]: rebasedEnd(end, clock, now), clock: now }
}
