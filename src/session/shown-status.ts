/** The one word for an agent that people get: at a terminal, in a pipe, in JSON, from the servers and on the page. */
import type { ShownStatus, Status } from '../schema/words.js'
import type { AgentSummary } from './snapshot-layout.js'
import { isTimed } from './status.js'

/**
 * An obstacle to the next turn comes before the end of the latest one. `status`: the derived one. `hasOnlyLaterMail`: called only
 * if nothing else decides.
 */
export function shownStatus(
  status: Status,
  { run, ended, hold, gate, refused, reminders, schedules, state }: AgentSummary,
  hasOnlyLaterMail: () => boolean,
): ShownStatus {
  if (state === 'terminated') return 'terminated'
  if (status === 'running') return 'running'
  if (status === 'waiting') return run?.wait != null && isTimed(run.wait) ? 'limited' : 'waiting'
  if (status !== 'idle') return 'interrupted'
  if (hold) return 'held'
  if (gate.isGated) return 'gated'
  if (refused?.some(({ past }) => past !== true)) return 'refused'
  const end = run?.status ?? ended
  if (end === 'failed') return 'failed'
  if (end === 'cancelled') return run?.reason === 'turn_timeout' ? 'timed_out' : 'cancelled'
  const hasSlots = schedules?.some(({ next_at, paused_at }) => next_at !== null && paused_at === null)
  return reminders.length > 0 || hasSlots === true || hasOnlyLaterMail() ? 'scheduled' : 'idle'
}
