/** Why a run did not complete, in words. */

import type { RunError } from '../schema/types.js'
import { causeOf } from './causes.js'
import type { Run } from './state.js'

type StopReason = NonNullable<Run['reason']>

/** A clause that ends a sentence. Null if the run has completed or is open. */
export function troubleOf(run: {
  error: RunError | null
  reason: Run['reason']
  host_id?: string
  host_name?: string
}): string | null {
  if (run.error !== null) return causeOf(run.error)
  const host = run.host_name ?? run.host_id
  if (run.reason === 'other_host' && host !== undefined) return `${WHY_STOPPED.other_host} (${host})`
  return run.reason === null ? null : WHY_STOPPED[run.reason]
}

/** How a turn ended, as the verb of a sentence. A time limit is not a command, so its turn was not cancelled. */
export function endOfTurn({ status, reason }: Pick<Run, 'status' | 'reason'>): string {
  return status === 'cancelled' && reason === 'turn_timeout' ? 'timed out' : ENDS[status]
}

const ENDS: Record<Run['status'], string> = {
  open: 'stopped',
  completed: 'completed',
  failed: 'failed',
  cancelled: 'was cancelled',
  interrupted: 'was interrupted',
}

export const WHY_STOPPED: Record<StopReason, string> = {
  process_exit: 'its process died',
  process_restart: 'the machine was restarted',
  program_killed: 'its agent program was killed',
  shutdown: 'a signal stopped it',
  suspended: 'another command suspended it',
  turn_timeout: 'it exceeded its time limit',
  terminated: 'the agent was terminated',
  cancelled: 'another command cancelled it',
  superseded: 'a new message superseded it',
  copied: 'the agent was copied while the turn was open',
  moved: 'the agent was moved to another home',
  log_damaged: 'the log was damaged, and the outcome of the turn is lost',
  unknown_tool: 'a tool call was interrupted, and its outcome is unknown',
  other_host: 'one of its programs may still be running on another host',
  program_alive: 'one of its programs may still be running and cannot be killed',
  wait_timeout: 'no approval, answer or result came before the deadline',
}
