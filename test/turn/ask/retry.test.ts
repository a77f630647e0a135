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
  waits = 0,
): RetryPlan {
  return planRetry({ type, message: 'm' }, failures, retryAfterMs, { delaysMs }, waits)
}

const NO_MORE = { retryInMs: null, notBefore: null }
const RETRIED: FailureType[] = ['overloaded', 'server_error', 'rate_limit', 'timeout', 'unreachable']

const RETRIED_ONCE: FailureType[] = ['invalid_response', 'empty']

describe.each(FAILURE_TYPES.filter((type) => !RETRIED_ONCE.includes(type)))('%s', (type) => {
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

test.each(RETRIED_ONCE)('%s is retried once, because each answer costs', (type) => {
  expect(plan(type, 0)).toEqual({ retryInMs: 2, notBefore: null })
  expect(plan(type, 1)).toEqual(NO_MORE)
  expect(plan(type, 0, null, [])).toEqual(NO_MORE)
})

test('a rate limit without a time parks the run for twice as long after each wait, up to an hour', () => {
  const minutes = [0, 1, 2, 3, 4, 5, 6, 7, 100].map((waits) => {
    const { retryInMs, notBefore } = plan('rate_limit', waits === 0 ? 3 : 0, null, [2, 4, 8], waits)
    expect(retryInMs).toBe(null)
    return (Date.parse(notBefore as string) - NOW) / 60_000
  })
  expect(minutes).toEqual([1, 2, 4, 8, 16, 32, 60, 60, 60])
})

test('a rate limit that says when it ends is believed after any number of waits', () => {
  expect(plan('rate_limit', 0, 3, [2, 4, 8], 5)).toEqual({ retryInMs: 3, notBefore: null })
  expect(plan('rate_limit', 3, 120_000, [2, 4, 8], 5).notBefore).toBe('2026-01-01T00:02:00.000Z')
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
