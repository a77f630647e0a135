/** Why a run did not complete, in words. */
import { causeOf } from './causes.js'
import type { RunError } from './fields.js'
import type { Run } from './state.js'

type StopReason = NonNullable<Run['reason']>

/** A clause that ends a sentence. Null if the run has completed or is open. */
export function troubleOf(run: { error: RunError | null; reason: Run['reason'] }): string | null {
  if (run.error !== null) return causeOf(run.error)
  return run.reason === null ? null : WHY_STOPPED[run.reason]
}

export const WHY_STOPPED: Record<StopReason, string> = {
  process_exit: 'its process is gone',
  process_restart: 'the machine was restarted',
  program_killed: 'its agent program was killed',
  shutdown: 'a signal stopped it',
  suspended: 'it was suspended by another command',
  turn_timeout: 'it took longer than its timeout',
  terminated: 'the agent was terminated',
  cancelled: 'it was cancelled by another command',
  superseded: 'a new message superseded it',
  log_damaged: 'the log was damaged, and its outcome is lost',
  unknown_tool: 'a tool was cut short, and its outcome is unknown',
  program_alive: 'one of its programs may still run and cannot be killed',
  wait_timeout: 'no approval or answer came before the deadline',
}
