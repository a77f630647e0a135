/** Checks the usage that a provider reports, before it is recorded. */
import { limits } from '../../limits.js'
import type { ModelUsage, Usage, Used } from '../../schema/types.js'

const PARTS = ['cache_read_tokens', 'cache_write_tokens', 'reasoning_tokens'] as const

/** Undefined without whole counts of input and output. An invalid part is left out: it must not fail a turn that has its reply. */
export function usageOf(reported: unknown): Usage | undefined {
  const { input_tokens, output_tokens, ...rest } = (reported ?? {}) as Partial<Usage>
  if (!isCount(input_tokens) || !isCount(output_tokens)) return undefined
  const usage: Usage = { input_tokens, output_tokens }
  for (const part of PARTS) {
    const count = rest[part]
    if (isCount(count)) usage[part] = count
  }
  const { cost_usd } = rest
  if (typeof cost_usd === 'number' && Number.isFinite(cost_usd) && cost_usd >= 0) usage.cost_usd = cost_usd
  return usage
}

/** The name of a model; undefined if it is none. */
export function modelOf(reported: unknown): string | undefined {
  return typeof reported === 'string' && reported !== '' && reported.length <= limits.modelNameCharactersMax
    ? reported
    : undefined
}

/** The usage of a program, with its parts by model. Undefined without counts. */
export function usedOf(reported: {
  usage?: unknown
  model?: unknown
  models?: unknown
}): (Used & { usage: Usage }) | undefined {
  const usage = usageOf(reported.usage)
  if (usage === undefined) return undefined
  const model = modelOf(reported.model)
  const models = Array.isArray(reported.models) ? modelsOf(reported.models) : []
  if (models.length > 0) return { usage, models }
  return model === undefined ? { usage } : { usage, models: [{ model, ...usage }] }
}

function modelsOf(reported: unknown[]): ModelUsage[] {
  return reported.slice(0, limits.modelsMax).flatMap((part): ModelUsage[] => {
    const model = modelOf((part as { model?: unknown } | null)?.model)
    const usage = usageOf(part)
    return model === undefined || usage === undefined ? [] : [{ model, ...usage }]
  })
}

function isCount(value: unknown): value is number {
  return Number.isSafeInteger(value) && (value as number) >= 0
}
