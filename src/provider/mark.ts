/**
 * By what a process is known to be ours, and what has started it: an entry of its environment, which whatever it starts
 * inherits, also what leaves its group by `setsid`.
 */
import type { ProcessGroup } from '../session/records.js'

/** An entry of the environment that only our own programs have. */
export interface Mark {
  variable: 'SUBSTRAT_RUN' | 'SUBSTRAT_SERVER' | 'SUBSTRAT_LAUNCH'
  value: string
  /** A copy of a home has the runs and the servers of the first in its logs: what runs there is none of its own. */
  home?: string
}

/** What a launched program, and what it has started, has in its environment; undefined for a group that names no launch. */
export function ofLaunch({ launch_id }: ProcessGroup, home?: string): Mark | undefined {
  if (launch_id === undefined) return undefined
  return { variable: 'SUBSTRAT_LAUNCH', value: launch_id, ...(home !== undefined && { home }) }
}

/** What every program of a run has in its environment. */
export function ofRun(runId: string, home?: string): Mark {
  return { variable: 'SUBSTRAT_RUN', value: runId, ...(home !== undefined && { home }) }
}
