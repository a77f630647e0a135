/** The derived status: computed from the state and a look at the lock, never stored as truth (design section 6). */
import type { Interruption } from './records.js'
import type { State } from './state.js'

export type Status = 'running' | 'waiting' | 'idle' | 'interrupted_startup' | 'interrupted_waiting'

const LEFT_TO_GO_ON: Interruption[] = ['process_exit', 'process_restart', 'shutdown']

/** Precedence: interrupted_startup > interrupted_waiting > waiting > running > idle. */
export function deriveStatus(state: State, isHolderAlive: boolean): Status {
  if (isInterrupted(state) || (state.run?.status === 'open' && !isHolderAlive)) return 'interrupted_startup'
  return state.run?.status === 'open' ? 'running' : 'idle'
}

/** Whether the latest run was interrupted by what nobody wished, and may go on: none began since. */
export function isInterrupted(state: State): boolean {
  const { interruption } = state.recovery
  return state.state !== 'terminated' && interruption !== null && LEFT_TO_GO_ON.includes(interruption.reason)
}

/** Whether a person's `resume` has something to go on with: also what a person's `suspend` stopped. */
export function isUnfinished(state: State): boolean {
  if (state.state === 'terminated') return false
  return state.run?.status === 'open' || state.recovery.interruption !== null
}
