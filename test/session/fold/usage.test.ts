/** Sums of usage stay of a shape that every reader accepts. */
import { expect, test } from 'vitest'
import type { SessionUsage, Usage } from '../../../src/schema/types.js'
import {
  addTotals,
  addUsage,
  countRun,
  NO_RUNS,
  remainder,
  withRun,
} from '../../../src/session/fold/usage.js'

const MAX = Number.MAX_SAFE_INTEGER
const PARTS = ['cache_read_tokens', 'cache_write_tokens', 'reasoning_tokens'] as const

function allOf(tokens: number): Usage {
  const parts = Object.fromEntries(PARTS.map((part) => [part, tokens]))
  return { input_tokens: tokens, output_tokens: tokens, ...parts }
}

function total(tokens: number): SessionUsage {
  return { ...allOf(tokens), runs: 1, runs_with_usage: 1, runs_with_cost: 0 }
}

// With the rounding of costs, these counts become fractions.
test.each([4_611_689_409, 7_610_031_029, 1_059_234_491_338_748])(
  'a sum of %d tokens is a whole number',
  (tokens) => {
    const half = allOf(tokens - 1)
    expect(addUsage(half, allOf(1))).toEqual(allOf(tokens))
    expect(remainder(allOf(tokens), allOf(1))).toEqual(half)
    expect(withRun(total(tokens - 1), half, allOf(tokens), allOf(1))).toEqual(total(tokens))
    expect(countRun(total(tokens))).toEqual({ ...total(tokens), runs: 2 })
    expect(addTotals(total(tokens - 1), total(1))).toMatchObject(allOf(tokens))
  },
)

test('a sum ends at the largest whole number that a record may have', () => {
  expect(addUsage(allOf(MAX), allOf(5))).toEqual(allOf(MAX))
  expect(withRun(total(MAX), allOf(MAX), allOf(MAX), allOf(5))).toEqual(total(MAX))
  expect(addTotals(total(MAX), total(MAX))).toMatchObject(allOf(MAX))
  const costly = { ...allOf(1), cost_usd: Number.MAX_VALUE }
  expect(addUsage(costly, costly)?.cost_usd).toBe(1e12)
  expect(remainder({ ...allOf(2), cost_usd: 1e12 }, { ...allOf(1), cost_usd: 1e12 }).cost_usd).toBe(0)
})

test('a sum of costs has no digits that no provider reported', () => {
  const tenth = { ...allOf(1), cost_usd: 0.1 }
  expect(addUsage({ ...tenth, cost_usd: 0.2 }, tenth)?.cost_usd).toBe(0.3)
  expect(addTotals(NO_RUNS, NO_RUNS)).toEqual(NO_RUNS)
})
