/** The usage of a turn, from the token counts in codex's store and output. */
import type { JsonObject, ModelUsage, Usage } from 'substrat/provider'
import { countOf } from '../../shared/src/program/json.js'

export interface Used {
  usage: Usage
  models?: ModelUsage[]
}

/** Codex counts cached input as input, and reasoning as output, as the contract does. */
const PARTS = {
  cache_read_tokens: 'cached_input_tokens',
  cache_write_tokens: 'cache_write_input_tokens',
  reasoning_tokens: 'reasoning_output_tokens',
} as const

/** `before`: the counts to subtract, if `tokens` is a total of the thread. Undefined if the turn used nothing. */
export function usedOf(
  tokens: JsonObject | undefined,
  model: string | undefined,
  before: JsonObject = {},
): Used | undefined {
  if (tokens === undefined) return undefined
  const count = (name: string): number => Math.max(0, countOf(tokens[name]) - countOf(before[name]))
  const usage: Usage = { input_tokens: count('input_tokens'), output_tokens: count('output_tokens') }
  if (usage.input_tokens + usage.output_tokens === 0) return undefined
  for (const [part, name] of Object.entries(PARTS) as [keyof typeof PARTS, string][])
    if (typeof tokens[name] === 'number') usage[part] = count(name)
  return model === undefined ? { usage } : { usage, models: [{ model, ...usage }] }
}
