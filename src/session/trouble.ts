/** Why a run did not complete, in words. */

import { causeOf, WHY_STOPPED } from '../schema/reasons.js'
import type { RunError } from '../schema/types.js'
import type { Run } from './state.js'

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
