import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { clock } from '../../../src/clock.js'
import { isTime } from '../../../src/format.js'
import { FAILURE_TYPES, type FailureType } from '../../../src/schema/words.js'
import { planRetry } from '../../../src/turn/ask/retry.js'
import type { RetryPlan } from '../../../src/turn/step/turn-event.js'

const NOW = Date.parse('2026-01-01T00:00:00.000Z')
const { now } = clock

beforeEach(() => {
  clock.now = () => NOW
})

afterEach(() => {
  clock.now = now
})

function plan(
  type: FailureType,
  failures = 0,
  retryAfterMs: number | null = null,
  delaysMs = [2, 4, 8],
): RetryPlan {
  return planRetry({ type, message: 'm' }, failures, retryAfterMs, { delaysMs })
}

const NO_MORE = { retryInMs: null, notBefore: null }
const RETRIED: FailureType[] = ['overloaded', 'rate_limit', 'timeout', 'unreachable']

describe.each(FAILURE_TYPES)('%s', (type) => {
  const isRetried = RETRIED.includes(type)

  test(
    isRetried ? 'is retried with growing delays, once per delay of the settings' : 'is not retried',
    () => {
      for (const [failures, delay] of [2, 4, 8].entries())
        expect(plan(type, failures)).toEqual(isRetried ? { retryInMs: delay, notBefore: null } : NO_MORE)
    },
  )

  test(
    type === 'rate_limit'
      ? 'parks the run for a minute after the last retry'
      : 'fails the run after the last retry',
    () => {
      const parked = { retryInMs: null, notBefore: '2026-01-01T00:01:00.000Z' }
      expect(plan(type, 3)).toEqual(type === 'rate_limit' ? parked : NO_MORE)
      expect(plan(type, 0, null, [])).toEqual(type === 'rate_limit' ? parked : NO_MORE)
    },
  )

  test('is retried no earlier than the provider asks', () => {
    expect(plan(type, 0, 3)).toEqual(isRetried ? { retryInMs: 3, notBefore: null } : NO_MORE)
    expect(plan(type, 2, 3)).toEqual(isRetried ? { retryInMs: 8, notBefore: null } : NO_MORE)
    expect(plan(type, 0, 60_000)).toEqual(isRetried ? { retryInMs: 60_000, notBefore: null } : NO_MORE)
  })

  test('parks the run if the provider asks for a much longer pause', () => {
    const parked = { retryInMs: null, notBefore: '2026-01-01T00:05:00.000Z' }
    expect(plan(type, 0, 300_000)).toEqual(isRetried ? parked : NO_MORE)
    expect(plan(type, 3, 300_000)).toEqual(isRetried ? parked : NO_MORE)
  })
})

test('a delay of the settings applies at any length', () => {
  expect(plan('overloaded', 0, null, [120_000])).toEqual({ retryInMs: 120_000, notBefore: null })
  expect(plan('rate_limit', 0, 1000, [120_000])).toEqual({ retryInMs: 120_000, notBefore: null })
})

test('a pause too long for any date is cut to 30 days', () => {
  for (const retryAfterMs of [Number.MAX_SAFE_INTEGER, Number.MAX_VALUE, 2 ** 60]) {
    const { notBefore } = plan('rate_limit', 0, retryAfterMs)
    expect(notBefore).toBe('2026-01-31T00:00:00.000Z')
    expect(isTime(notBefore)).toBe(true)
  }
})

test('a rate limit with a time in the past counts as one without a time', () => {
  const later = new Date(NOW + 60_000).toISOString()
  expect(plan('rate_limit', 3, 0)).toEqual({ retryInMs: null, notBefore: later })
})
