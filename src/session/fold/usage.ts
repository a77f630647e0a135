/**
 * Adds up tokens and costs.
 *
 * Invariant: the total of a session is the sum over its records, so it costs the same to keep at any age.
 */
import type { Usage } from '../../schema/types.js'
import type { NewRecord } from '../records.js'
import type { Run, State } from '../state.js'

export const NO_USAGE: Usage = { input_tokens: 0, output_tokens: 0 }

/** The fields that not every provider reports. */
const OPTIONAL = ['cache_read_tokens', 'cache_write_tokens', 'reasoning_tokens', 'cost_usd'] as const

export function addUsage(sum: Usage | null, added: Usage | undefined): Usage | null {
  return added === undefined ? sum : combined(sum ?? NO_USAGE, added, 1)
}

/** Adds the usage of a record to its run and to the session. `null` for a session whose earlier usage is unknown. */
export function countUsage(next: State, run: Run, added: Usage | undefined): Pick<State, 'usage' | 'run'> {
  return {
    usage: next.usage === null ? null : addUsage(next.usage, added),
    run: { ...run, usage: addUsage(run.usage, added) },
  }
}

/** `run.completed` has the total of the run, of which earlier records may have counted a part. */
export function uncounted(run: Run, { usage }: NewRecord<'run.completed'>): Usage | undefined {
  return usage === undefined || run.usage === null ? usage : combined(usage, run.usage, -1)
}

function combined(a: Usage, b: Usage, sign: 1 | -1): Usage {
  const total: Usage = {
    input_tokens: a.input_tokens + sign * b.input_tokens,
    output_tokens: a.output_tokens + sign * b.output_tokens,
  }
  for (const field of OPTIONAL) {
    if (a[field] === undefined && b[field] === undefined) continue
    // Sums of fractions are rounded, so that a total has no digits that no provider reported.
    total[field] = Math.round(((a[field] ?? 0) + sign * (b[field] ?? 0)) * 1e9) / 1e9
  }
  return total
}
