/** Whether and when a failed model request is retried (docs/turns.md, Retries). */
import { clock } from '../../clock.js'
import { limits } from '../../limits.js'
import type { RunError } from '../../schema/types.js'
import type { FailureType } from '../../schema/words.js'
import type { RetryPlan } from '../step/turn-event.js'

export interface RetrySettings {
  /** The pause before each retry. The list's length is the number of retries. */
  delaysMs: number[]
}

const RETRIED = new Set<FailureType>(['overloaded', 'rate_limit', 'timeout', 'unreachable'])

/** If the provider asks for a longer pause than this, the run is parked instead. */
const PAUSE_MS_MAX = 60_000
/** Used if a rate limit does not say when it ends. */
const RATE_LIMIT_MS = 60_000

/** `failures`: number of consecutive failed attempts before this one. */
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
  // Ignore a time in the past, for example when our clock is ahead: an immediate retry would loop.
  const isKnown = retryAfterMs !== null && retryAfterMs > 0
  const waitMs = Math.min(isKnown ? retryAfterMs : RATE_LIMIT_MS, limits.retryAfterMsMax)
  return { retryInMs: null, notBefore: new Date(clock.now() + waitMs).toISOString() }
}
