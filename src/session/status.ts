/**
 * The derived status (docs/commands.md, State and status). It is computed from the state, the clock and a look at the
 * lock, and never read back from disk.
 */

import type { ClockReading } from '../host/identity.js'
import { limits } from '../limits.js'
import { isOver } from './durations.js'
import type { Interruption } from './fields.js'
import { awaitedToken, isExpired } from './fold/tokens.js'
import type { State, Wait } from './state.js'

export type Status = 'running' | 'waiting' | 'idle' | 'interrupted_startup' | 'interrupted_waiting'

/** What a turn goes on from by itself. */
const GOES_ON: Interruption[] = ['process_exit', 'process_restart', 'shutdown', 'program_killed']
/** `unknown_tool`, `program_alive`: a person has to say so first. */
const INTERRUPTED_STARTUP: Interruption[] = [...GOES_ON, 'unknown_tool', 'program_alive']

/** A person decides first: about a tool cut short, a program out of reach, or what nobody approved in time. */
const NEEDS_PERSON: Interruption[] = ['unknown_tool', 'program_alive', 'wait_timeout']

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

/** Whether what is waited for can still come: the token can be used and the deadline is not over. */
export function waitIsGood(state: Pick<State, 'tokens'>, wait: Wait, now: ClockReading): boolean {
  if (wait.kind === 'not_before') return true
  if (wait.deadline_at !== null && isOver(wait.deadline_at, wait.clock, now)) return false
  const token = awaitedToken(state, wait)
  return token?.status === 'minted' && !isExpired(token, now)
}

/** Whether a run that waits for a time may go on. */
export function isDue(wait: Wait | null, now: ClockReading): boolean {
  return wait?.kind === 'not_before' && isOver(wait.not_before ?? '', wait.clock, now)
}

/** Whether the latest run was interrupted by what nobody wished, and may go on: none began since. */
export function isInterrupted(state: State): boolean {
  const { interruption } = state.recovery
  return state.state !== 'terminated' && interruption !== null && GOES_ON.includes(interruption.reason)
}

/** Whether as many attempts to continue the latest turn automatically added nothing as are allowed. */
export function isExhausted({ recovery }: Pick<State, 'recovery'>): boolean {
  return recovery.barren_attempts >= limits.barrenAttemptsMax
}

/** Whether a later command continues the interrupted turn without being asked to, and so brings its reply. */
export function isToContinue(state: State): boolean {
  return isInterrupted(state) && !isExhausted(state)
}

/** Whether the latest turn stays interrupted until a person decides, and nobody has stopped it on purpose. */
export function needsPerson(state: State): boolean {
  const reason = state.recovery.interruption?.reason
  if (reason === undefined || state.state === 'terminated') return false
  return isInterrupted(state) ? isExhausted(state) : NEEDS_PERSON.includes(reason)
}

/** Whether a program of the latest turn may still run, so that no turn is started beside it before a person decides. */
export function isBesideProgram({ recovery }: Pick<State, 'recovery'>): boolean {
  return recovery.interruption?.reason === 'program_alive'
}

/** Whether a person's `resume` has something to go on with: also what a person's `suspend` stopped. */
export function isUnfinished(state: State): boolean {
  if (state.state === 'terminated') return false
  return state.run?.status === 'open' || state.recovery.interruption !== null
}
