/**
 * The derived status (docs/commands.md, State and status). It is computed from the state, the clock and the lock, and never
 * read back from disk.
 */

import type { ClockReading } from '../host/identity.js'
import { limits } from '../limits.js'
import type { Interruption, Status } from '../schema/words.js'
import { isOver } from './durations.js'
import { awaitedToken, isExpired } from './fold/tokens.js'
import type { State, Wait } from './state.js'

export type { Status } from '../schema/words.js'

/** A turn interrupted for one of these reasons continues automatically. */
const GOES_ON: Interruption[] = ['process_exit', 'process_restart', 'shutdown', 'program_killed']
/** A turn with one of the last two reasons continues only after a person decides. */
const INTERRUPTED_STARTUP: Interruption[] = [...GOES_ON, 'unknown_tool', 'program_alive', 'other_host']

/** A person decides first: about a tool cut short, a program that cannot be killed or is on another host, or an approval that did not come in time. */
const NEEDS_PERSON: Interruption[] = ['unknown_tool', 'program_alive', 'other_host', 'wait_timeout']

/** Precedence: interrupted_startup > interrupted_waiting > waiting > running > idle. */
export function deriveStatus(
  state: Pick<State, 'run' | 'recovery' | 'state' | 'tokens'>,
  isHolderAlive: boolean,
  now: ClockReading,
): Status {
  const { run, recovery } = state
  const wait = openWait(state)
  const ended = state.state === 'terminated' ? undefined : recovery.interruption?.reason
  if (ended !== undefined && INTERRUPTED_STARTUP.includes(ended)) return 'interrupted_startup'
  if (isAtWork(state) && !isHolderAlive) return 'interrupted_startup'
  if (ended === 'wait_timeout') return 'interrupted_waiting'
  if (wait !== null) return waitIsGood(state, wait, now) ? 'waiting' : 'interrupted_waiting'
  return run?.status === 'open' ? 'running' : 'idle'
}

/** The wait of the open run. Null if the run is working, or if no run is open. */
export function openWait({ run }: Pick<State, 'run'>): Wait | null {
  return run?.status === 'open' ? run.wait : null
}

/** Whether the run is open and not waiting. Its process may be dead. */
export function isAtWork({ run }: Pick<State, 'run'>): boolean {
  return run?.status === 'open' && run.wait === null
}

/** Whether the wait can still be answered: the token is valid and the deadline has not passed. */
export function waitIsGood(state: Pick<State, 'tokens'>, wait: Wait, now: ClockReading): boolean {
  if (wait.kind === 'not_before') return true
  if (wait.deadline_at !== null && isOver(wait.deadline_at, wait.clock, now)) return false
  const token = awaitedToken(state, wait)
  return token?.status === 'minted' && !isExpired(token, now)
}

/** Whether the run goes on at a known time: after a rate limit, or when the window of a budget refills. */
export function isTimed({ kind, not_before }: Pick<Wait, 'kind' | 'not_before'>): boolean {
  return kind === 'not_before' || (kind === 'budget' && not_before !== null)
}

/** Whether the run waits for a time that has come. */
export function isDue(wait: Wait | null, now: ClockReading): boolean {
  if (wait?.kind === 'budget') return wait.not_before !== null && isOver(wait.not_before, wait.clock, now)
  return wait?.kind === 'not_before' && isOver(wait.not_before ?? '', wait.clock, now)
}

/** Whether the latest run was interrupted against the user's intent and can continue. False once a later run has begun. */
export function isInterrupted(state: State): boolean {
  const { interruption } = state.recovery
  return state.state !== 'terminated' && interruption !== null && GOES_ON.includes(interruption.reason)
}

/** Whether automatic attempts to continue the latest turn have used up their limit without progress. */
export function isExhausted({ recovery }: Pick<State, 'recovery'>): boolean {
  return recovery.barren_attempts >= limits.barrenAttemptsMax
}

/** Whether a later command continues the interrupted turn automatically, so that its reply will follow. */
export function isToContinue(state: State): boolean {
  return isInterrupted(state) && !isExhausted(state)
}

/** Whether `suspend` stopped the latest turn, so that `resume` continues it. */
export function isPaused({ state, recovery }: Pick<State, 'state' | 'recovery'>): boolean {
  return state !== 'terminated' && recovery.interruption?.reason === 'suspended'
}

/** Whether the latest turn stays interrupted until a person decides, and was not stopped on purpose. */
export function needsPerson(state: State): boolean {
  const reason = state.recovery.interruption?.reason
  if (reason === undefined || state.state === 'terminated') return false
  return isInterrupted(state) ? isExhausted(state) : NEEDS_PERSON.includes(reason)
}

/** Whether a program of the latest turn may still run. No turn starts beside it until a person decides. */
export function isBesideProgram({ recovery }: Pick<State, 'recovery'>): boolean {
  const reason = recovery.interruption?.reason
  return reason === 'program_alive' || reason === 'other_host'
}

/**
 * Whether a tool call of the latest turn was cut short, and its outcome is unknown. No turn begins until a person continues that
 * turn or gives it up.
 */
export function isOutcomeUnknown(state: State): boolean {
  if (state.state === 'terminated') return false
  return state.recovery.interruption?.reason === 'unknown_tool' || (isExhausted(state) && hasCutCall(state))
}

/** A call that a rule runs again, or checks. Any other one has its result from recovery. */
function hasCutCall({ run }: State): boolean {
  return (
    run?.calls.some(
      ({ status, attempts, group }) => status === 'started' && (attempts !== undefined || group !== null),
    ) === true
  )
}

/** Whether `resume` has a turn to continue. This includes a turn that `suspend` stopped. */
export function isUnfinished(state: State): boolean {
  if (state.state === 'terminated') return false
  return state.run?.status === 'open' || state.recovery.interruption !== null
}

/** Whether a person has compacted the conversation since the latest turn. */
export function isCompactedSince({ compaction, run }: State): boolean {
  return compaction !== null && run !== null && compaction.seq > run.start.seq && !run.isCompacted
}

/** The predicate of a sentence about a terminated agent. */
export function howEnded(state: Pick<State, 'moved'> | undefined): string {
  return state?.moved === undefined ? 'is terminated' : `was moved to ${state.moved.to}`
}
