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

const RETRIED = new Set<FailureType>(['overloaded', 'server_error', 'rate_limit', 'timeout', 'unreachable'])

/** If the provider asks for a longer pause than this, the run is parked instead. */
const PAUSE_MS_MAX = 60_000
/** The first wait for a rate limit that does not say when it ends, and the longest. Each further wait is twice as long. */
const RATE_LIMIT_MS = 60_000
const RATE_LIMIT_MS_MAX = 3_600_000
/** Another request may give a better answer, but each one costs. */
const RETRIED_ONCE = new Set<FailureType>(['invalid_response', 'empty'])

/** As `failures`: the request is not repeated, unless a time is known at which it can succeed. */
export const NO_RETRY = Number.POSITIVE_INFINITY

/** `failures`: number of consecutive failed attempts before this one. `waits`: how often the run has waited for this rate limit. */
export function planRetry(
  error: RunError,
  failures: number,
  retryAfterMs: number | null,
  settings: RetrySettings,
  waits = 0,
): RetryPlan {
  const isRetriedOnce = RETRIED_ONCE.has(error.type) && failures === 0
  if (!RETRIED.has(error.type) && !isRetriedOnce) return { retryInMs: null, notBefore: null }
  const delayMs = settings.delaysMs[failures]
  const isLong = retryAfterMs !== null && retryAfterMs > PAUSE_MS_MAX
  // A limit that outlasted a wait is not a short one.
  const mayRetry = waits === 0 || retryAfterMs !== null
  if (delayMs !== undefined && !isLong && mayRetry)
    return { retryInMs: Math.max(delayMs, retryAfterMs ?? 0), notBefore: null }
  if (error.type !== 'rate_limit' && !isLong) return { retryInMs: null, notBefore: null }
  // Ignore a time in the past, for example when our clock is ahead: an immediate retry would loop.
  const isKnown = retryAfterMs !== null && retryAfterMs > 0
  const guessMs = Math.min(RATE_LIMIT_MS * 2 ** waits, RATE_LIMIT_MS_MAX)
  const waitMs = Math.min(isKnown ? retryAfterMs : guessMs, limits.retryAfterMsMax)
  return { retryInMs: null, notBefore: new Date(clock.now() + waitMs).toISOString() }
}
