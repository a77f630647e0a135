/** Whether and when a failed model request is retried (docs/turns.md, Retries). */
import { clock } from '../../clock.js'
import { limits } from '../../limits.js'
import type { FailureType, RunError } from '../../session/fields.js'
import type { RetryPlan } from '../step/turn-event.js'

export interface RetrySettings {
  /** The pause before each retry; as many retries as there are pauses. */
  delaysMs: number[]
}

const RETRIED = new Set<FailureType>(['overloaded', 'rate_limit', 'timeout', 'unreachable'])

/** A provider that says to come back later than this is not waited for: the run is parked. */
const PAUSE_MS_MAX = 60_000
/** When a rate limit does not say how long it holds. */
const RATE_LIMIT_MS = 60_000

/** `failures`: how many attempts failed in a row before this one. */
export function planRetry(
  error: RunError,
  failures: number,
  retryAfterMs: number | null,
  settings: RetrySettings,
): RetryPlan {
  if (!RETRIED.has(error.type)) return { retryInMs: null, notBefore: null }
  const delayMs = settings.delaysMs[failures]
  const isLong = retryAfterMs !== null && retryAfterMs > PAUSE_MS_MAX
  if (delayMs !== undefined && !isLong)
    return { retryInMs: Math.max(delayMs, retryAfterMs ?? 0), notBefore: null }
  if (error.type !== 'rate_limit' && !isLong) return { retryInMs: null, notBefore: null }
  // A time that is over already, as by a clock that is ahead, says nothing: to ask at once would have no end.
  const isKnown = retryAfterMs !== null && retryAfterMs > 0
  const waitMs = Math.min(isKnown ? retryAfterMs : RATE_LIMIT_MS, limits.retryAfterMsMax)
  return { retryInMs: null, notBefore: new Date(clock.now() + waitMs).toISOString() }
}
