/** Builds the usage that a model service reports, with the meaning that the contract gives to its fields. */
import type { ModelEvent, Usage } from 'substrat/provider'
import { countOf } from './wire.js'

/** Counts as a service reports them: of any type, and missing for a service that does not know them. */
export interface ReportedParts {
  cache_read_tokens?: unknown
  cache_write_tokens?: unknown
  reasoning_tokens?: unknown
}

/** `input` and `output` include the parts. A part that the service does not report, or that is not a count, is absent. */
export function usageEvent(
  input: number,
  output: number,
  parts: ReportedParts,
  model: unknown,
): Extract<ModelEvent, { type: 'usage' }> {
  const usage: Usage = { input_tokens: input, output_tokens: output }
  const read = partOf(parts.cache_read_tokens, input)
  const write = partOf(parts.cache_write_tokens, input - (read ?? 0))
  const reasoning = partOf(parts.reasoning_tokens, output)
  if (read !== undefined) usage.cache_read_tokens = read
  if (write !== undefined) usage.cache_write_tokens = write
  if (reasoning !== undefined) usage.reasoning_tokens = reasoning
  return typeof model === 'string' && model !== ''
    ? { type: 'usage', usage, model }
    : { type: 'usage', usage }
}

/** A part is at most its whole. A service may report more. */
function partOf(count: unknown, whole: number): number | undefined {
  return typeof count === 'number' ? Math.min(countOf(count), whole) : undefined
}
