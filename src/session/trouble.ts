/** Why a run did not complete, in words. */
import { causeOf } from './causes.js'
import type { RunError } from './fields.js'
import type { Run } from './state.js'

type StopReason = NonNullable<Run['reason']>

/** As the end of a sentence; null where it did complete, or is open. */
export function troubleOf(run: { error: RunError | null; reason: Run['reason'] }): string | null {
  if (run.error !== null) return causeOf(run.error)
  return run.reason === null ? null : WHY_STOPPED[run.reason]
}

export const WHY_STOPPED: Record<StopReason, string> = {
  process_exit: 'its process is gone',
  process_restart: 'the machine was started anew',
  program_killed: 'its agent program was killed',
  shutdown: 'a signal stopped it',
  suspended: 'it was suspended by another command',
  turn_timeout: 'it took longer than its timeout',
  terminated: 'the agent was terminated',
  cancelled: 'it was cancelled by another command',
  superseded: 'a new message took its place',
  log_damaged: 'the log was damaged, and what became of it is lost',
  unknown_tool: 'a tool was cut short, and nobody knows how far it came',
  program_alive: 'a program of it may still run, where it cannot be killed',
  wait_timeout: 'what it waited for did not come in time',
}
