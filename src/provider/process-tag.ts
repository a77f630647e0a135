/**
 * The tag of our processes: an entry of their environment that says what launched them. Every process that they start
 * inherits it, also one that leaves the group with `setsid`.
 */
import type { ProcessGroup } from '../session/fields.js'

/** An entry of the environment that only our own programs have. */
export interface ProcessTag {
  variable: 'SUBSTRAT_RUN' | 'SUBSTRAT_SERVER' | 'SUBSTRAT_LAUNCH'
  value: string
  /** A copy of a home has the runs and the servers of the first in its logs: what runs there is none of its own. */
  home?: string
}

/** What a launched program, and what it has started, has in its environment; undefined for a group that names no launch. */
export function tagOfLaunch({ launch_id }: ProcessGroup, home?: string): ProcessTag | undefined {
  if (launch_id === undefined) return undefined
  return { variable: 'SUBSTRAT_LAUNCH', value: launch_id, ...(home !== undefined && { home }) }
}

/** What every program of a run has in its environment. */
export function tagOfRun(runId: string, home?: string): ProcessTag {
  return { variable: 'SUBSTRAT_RUN', value: runId, ...(home !== undefined && { home }) }
}
