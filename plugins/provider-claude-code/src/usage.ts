/** The usage of a turn, as claude reports it at the end of the turn, or as its transcript has it. */
import type { JsonObject, ModelUsage, Usage } from 'substrat/provider'
import { countOf, objectOf, textOf } from '../../shared/src/program/json.js'

export interface Used {
  usage: Usage
  models?: ModelUsage[]
}

/** The usage of a turn, also by model. Claude counts cached input apart, so it is added. */
export function usageOf(result: JsonObject): Used | undefined {
  const usage = objectOf(result.usage)
  if (usage === undefined) return undefined
  const total = tokensIn(usage)
  const models = Object.entries(objectOf(result.modelUsage) ?? {}).flatMap(([model, part]): ModelUsage[] => {
    const { inputTokens, outputTokens, cacheReadInputTokens, cacheCreationInputTokens, costUSD } =
      objectOf(part) ?? {}
    const tokens = counted(inputTokens, cacheReadInputTokens, cacheCreationInputTokens, outputTokens)
    return [{ model, ...withCost(tokens, costUSD) }]
  })
  const whole = withCost(total, result.total_cost_usd)
  return models.length === 0 ? { usage: whole } : { usage: whole, models }
}

function tokensIn(usage: JsonObject): Usage {
  const { input_tokens, cache_creation_input_tokens, cache_read_input_tokens, output_tokens } = usage
  return counted(input_tokens, cache_read_input_tokens, cache_creation_input_tokens, output_tokens)
}

function counted(input: unknown, read: unknown, written: unknown, output: unknown): Usage {
  return {
    input_tokens: countOf(input) + countOf(read) + countOf(written),
    output_tokens: countOf(output),
    cache_read_tokens: countOf(read),
    cache_write_tokens: countOf(written),
  }
}

function withCost(usage: Usage, cost: unknown): Usage {
  return typeof cost === 'number' && cost >= 0 ? { ...usage, cost_usd: cost } : usage
}

/** The usage of a turn in the transcript, which has no costs. Takes the entries from the prompt on. */
export class Spent {
  /** By id: each block of a message is an entry of its own, with the usage of the message. */
  private readonly messages = new Map<string, { model: string; usage: Usage }>()
  private turnId: string | undefined
  private isOver = false

  take({ type, promptId, message }: JsonObject): void {
    const turnId = textOf(promptId)
    // Each prompt has its own id. A later one is of a user who continued the session in claude itself.
    if (type === 'user' && turnId !== undefined) {
      this.turnId ??= turnId
      this.isOver ||= turnId !== this.turnId
    }
    if (type !== 'assistant' || this.isOver) return
    const { id, model, usage } = objectOf(message) ?? {}
    const [messageId, name, tokens] = [textOf(id), textOf(model), objectOf(usage)]
    // Claude writes some messages itself, without a model.
    if (messageId === undefined || name === undefined || name === '<synthetic>' || tokens === undefined)
      return
    this.messages.set(messageId, { model: name, usage: tokensIn(tokens) })
  }

  /** Undefined if no message has a usage. */
  get used(): Used | undefined {
    if (this.messages.size === 0) return undefined
    const total = counted(0, 0, 0, 0)
    const models = new Map<string, Usage>()
    for (const { model, usage } of this.messages.values()) {
      add(total, usage)
      models.set(model, add(models.get(model) ?? counted(0, 0, 0, 0), usage))
    }
    return { usage: total, models: [...models].map(([model, usage]) => ({ model, ...usage })) }
  }
}

function add(sum: Usage, added: Usage): Usage {
  for (const [field, count] of Object.entries(added) as [keyof Usage, number][])
    sum[field] = (sum[field] ?? 0) + count
  return sum
}
