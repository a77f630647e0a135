/**
 * The usage of a turn, as far as the agent reports it. Tokens come with the stop reason. Costs come in updates during the
 * turn, as the total of the session, so that the cost of the turn is a difference of two totals.
 *
 * Invariant: the total is in the state that is recorded, so that no cost counts in two turns.
 */
import type { AgentEvent, JsonObject, Usage } from 'substrat/provider'
import { countOf, objectOf, textOf } from '../../shared/src/program/json.js'

/** The costs of the session, for the next process. */
export interface Costs {
  /** The latest total of the session, in US dollars. */
  total_usd: number
  /** The cost of the turn that has not ended; null between turns. */
  turn_usd: number | null
  /** The model of that turn. */
  model?: string
}

export class Meter {
  private turnUsd: number | undefined
  private tokens: Usage | undefined

  constructor(
    private totalUsd: number,
    private model: string | undefined,
  ) {}

  get costs(): Costs {
    const { totalUsd, turnUsd, model } = this
    return { total_usd: totalUsd, turn_usd: turnUsd ?? null, ...(model !== undefined && { model }) }
  }

  /** Takes a `usage_update`. Returns whether it has a new total. Amounts in other units than US dollars are ignored. */
  takeCost({ cost }: JsonObject): boolean {
    const { amount, currency } = objectOf(cost) ?? {}
    if (textOf(currency)?.toUpperCase() !== 'USD') return false
    if (typeof amount !== 'number' || !Number.isFinite(amount) || amount < 0) return false
    const isNew = this.turnUsd === undefined || amount !== this.totalUsd
    // An agent that counts from 0 again, as some do when they restart, reports a smaller total than before.
    const added = amount >= this.totalUsd ? amount - this.totalUsd : amount
    this.turnUsd = rounded((this.turnUsd ?? 0) + added)
    this.totalUsd = amount
    return isNew
  }

  /** Takes the `usage` of the answer to the prompt. */
  takeTokens(usage: unknown): void {
    this.tokens = tokensOf(objectOf(usage) ?? {}) ?? this.tokens
  }

  /** The model changed during the turn: the agent does not say which part each one has. */
  takeModel(model: string): void {
    this.model = model
  }

  /** Nothing if the agent has reported neither tokens nor a cost. */
  *event(): Iterable<AgentEvent> {
    const used = usedIn(this.costs, this.tokens)
    if (used !== undefined) yield { type: 'usage', ...used }
  }
}

/** The usage of a turn with these costs. Without tokens, their counts are 0. */
export function usedIn(
  { turn_usd, model }: Costs,
  tokens?: Usage,
): { usage: Usage; model?: string } | undefined {
  if (tokens === undefined && turn_usd === null) return undefined
  const usage: Usage = { ...(tokens ?? { input_tokens: 0, output_tokens: 0 }) }
  if (turn_usd !== null) usage.cost_usd = turn_usd
  return model === undefined ? { usage } : { usage, model }
}

/**
 * The protocol does not define whether cached input is part of the input, and reasoning part of the output. If they are
 * counted apart, then the total is larger than the sum of input and output.
 */
function tokensOf(usage: JsonObject): Usage | undefined {
  const total = countOf(usage.totalTokens)
  if (total === 0) return undefined
  const [input, output] = [countOf(usage.inputTokens), countOf(usage.outputTokens)]
  const [read, written] = [countOf(usage.cachedReadTokens), countOf(usage.cachedWriteTokens)]
  const thought = countOf(usage.thoughtTokens)
  const apart = total - input - output
  const isThoughtApart = thought > 0 && (apart === thought || apart === thought + read + written)
  const output_tokens = isThoughtApart ? output + thought : output
  const tokens: Usage = { input_tokens: Math.max(input, total - output_tokens), output_tokens }
  if (isCount(usage.cachedReadTokens)) tokens.cache_read_tokens = read
  if (isCount(usage.cachedWriteTokens)) tokens.cache_write_tokens = written
  if (isCount(usage.thoughtTokens)) tokens.reasoning_tokens = thought
  return tokens
}

function isCount(value: unknown): boolean {
  return value === 0 || countOf(value) > 0
}

function rounded(usd: number): number {
  return Math.round(usd * 1e9) / 1e9
}
