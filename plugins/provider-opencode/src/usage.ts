/** The usage of a turn: the sum over the messages that answer its prompt. */
import type { JsonObject, ModelUsage, Usage } from 'substrat/provider'
import { countOf, objectOf, textOf } from '../../shared/src/program/json.js'

export interface Used {
  usage: Usage
  models?: ModelUsage[]
}

/** Undefined if no message reports tokens or costs. A message that failed or was aborted has none or a part. */
export function usedBy(infos: Iterable<JsonObject | undefined>): Used | undefined {
  const total = noUsage()
  const byModel = new Map<string, Usage>()
  for (const info of infos) {
    const usage = usageOf(info)
    if (info === undefined || usage === undefined || isNothing(usage)) continue
    add(total, usage)
    const [provider, model] = [textOf(info.providerID), textOf(info.modelID)]
    if (!provider || !model) continue
    const name = `${provider}/${model}`
    byModel.set(name, add(byModel.get(name) ?? noUsage(), usage))
  }
  if (isNothing(total)) return undefined
  const models = [...byModel].map(([model, usage]) => ({ model, ...usage }))
  return models.length === 0 ? { usage: total } : { usage: total, models }
}

/** OpenCode counts cached input and reasoning apart, so they are added. */
function usageOf(info: JsonObject | undefined): Usage | undefined {
  const tokens = objectOf(info?.tokens)
  if (info === undefined || tokens === undefined) return undefined
  const { read, write } = objectOf(tokens.cache) ?? {}
  const usage: Usage = {
    input_tokens: countOf(tokens.input) + countOf(read) + countOf(write),
    output_tokens: countOf(tokens.output) + countOf(tokens.reasoning),
    cache_read_tokens: countOf(read),
    cache_write_tokens: countOf(write),
    reasoning_tokens: countOf(tokens.reasoning),
  }
  const { cost } = info
  return typeof cost === 'number' && Number.isFinite(cost) && cost >= 0 ? { ...usage, cost_usd: cost } : usage
}

function isNothing({ input_tokens, output_tokens, cost_usd = 0 }: Usage): boolean {
  return input_tokens + output_tokens + cost_usd === 0
}

function noUsage(): Usage {
  return { input_tokens: 0, output_tokens: 0 }
}

function add(sum: Usage, added: Usage): Usage {
  for (const [field, count] of Object.entries(added) as [keyof Usage, number][])
    sum[field] = Math.round(((sum[field] ?? 0) + count) * 1e9) / 1e9
  return sum
}
