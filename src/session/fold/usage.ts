/**
 * Adds up tokens and costs.
 *
 * Invariant: the total of a session is the sum over its records, so it costs the same to keep at any age.
 */
import type { SessionUsage, Usage } from '../../schema/types.js'
import type { NewRecord } from '../records.js'
import type { Run, State } from '../state.js'

const NO_USAGE: Usage = { input_tokens: 0, output_tokens: 0 }

/** The total of a session without runs. */
export const NO_RUNS: SessionUsage = { ...NO_USAGE, runs: 0, runs_with_usage: 0, runs_with_cost: 0 }

/** The counts that not every provider reports. */
const PARTS = ['cache_read_tokens', 'cache_write_tokens', 'reasoning_tokens'] as const

/** Sums end here, so that no report of a provider can make a record or a snapshot that no reader accepts. */
const TOKENS_MAX = Number.MAX_SAFE_INTEGER
const COST_MAX = 1e12

export function addUsage(sum: Usage | null, added: Usage | undefined): Usage | null {
  return added === undefined ? sum : combined(sum ?? NO_USAGE, added, 1)
}

/**
 * Makes `run` the run of `next`, and adds the usage of a record to both. The session's is null if its earlier usage is unknown.
 * Changes `next`: each fold of a long log calls this very often.
 */
export function countUsage(next: State, run: Run, added: Usage | undefined): State {
  next.run = run
  if (added === undefined) return next
  const usage = combined(run.usage ?? NO_USAGE, added, 1)
  next.run = { ...run, usage }
  if (next.usage !== null) next.usage = withRun(next.usage, run.usage, usage, added)
  return next
}

/**
 * Counts the run of each total once: when its first usage comes, and when its first cost comes. The objects are made without
 * spreads, which would take a fifth of the time of a fold.
 */
export function withRun(
  total: SessionUsage,
  before: Usage | null,
  after: Usage | null,
  added: Usage | undefined,
): SessionUsage {
  if (added === undefined) return total
  const isFirst = before === null && after !== null
  const isFirstCost = before?.cost_usd === undefined && after?.cost_usd !== undefined
  const sum: SessionUsage = {
    input_tokens: Math.min(total.input_tokens + added.input_tokens, TOKENS_MAX),
    output_tokens: Math.min(total.output_tokens + added.output_tokens, TOKENS_MAX),
    runs: total.runs,
    runs_with_usage: total.runs_with_usage + (isFirst ? 1 : 0),
    runs_with_cost: total.runs_with_cost + (isFirstCost ? 1 : 0),
  }
  addOptional(sum, total, added, 1)
  return sum
}

/** The total of several sessions. */
export function addTotals(a: SessionUsage, b: SessionUsage): SessionUsage {
  const { runs, runs_with_usage, runs_with_cost } = a
  return {
    ...combined(a, b, 1),
    runs: runs + b.runs,
    runs_with_usage: runs_with_usage + b.runs_with_usage,
    runs_with_cost: runs_with_cost + b.runs_with_cost,
  }
}

export function countRun(usage: SessionUsage): SessionUsage {
  const { input_tokens, output_tokens, runs, runs_with_usage, runs_with_cost } = usage
  const counted = { input_tokens, output_tokens, runs: runs + 1, runs_with_usage, runs_with_cost }
  addOptional(counted, usage, NO_USAGE, 1)
  return counted
}

/** `run.completed` has the total of the run, of which earlier records may have counted a part. */
export function uncounted(run: Run, { usage }: NewRecord<'run.completed'>): Usage | undefined {
  return usage === undefined ? undefined : remainder(usage, run.usage)
}

/** The part of a total that is not counted yet. */
export function remainder(total: Usage, counted: Usage | null): Usage {
  return counted === null ? total : combined(total, counted, -1)
}

function combined(a: Usage, b: Usage, sign: 1 | -1): Usage {
  const total: Usage = {
    input_tokens: Math.min(a.input_tokens + sign * b.input_tokens, TOKENS_MAX),
    output_tokens: Math.min(a.output_tokens + sign * b.output_tokens, TOKENS_MAX),
  }
  addOptional(total, a, b, sign)
  return total
}

function addOptional(total: Usage, a: Usage, b: Usage, sign: 1 | -1): void {
  for (const part of PARTS) {
    if (a[part] === undefined && b[part] === undefined) continue
    total[part] = Math.min((a[part] ?? 0) + sign * (b[part] ?? 0), TOKENS_MAX)
  }
  if (a.cost_usd === undefined && b.cost_usd === undefined) return
  const cost = Math.min((a.cost_usd ?? 0) + sign * (b.cost_usd ?? 0), COST_MAX)
  // Only fractions are rounded, so that a total has no digits that no provider reported. A large count would become a fraction.
  total.cost_usd = Math.round(cost * 1e9) / 1e9
}
