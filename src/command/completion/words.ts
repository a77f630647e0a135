/** Words for shell completion that a home or a provider knows. */
import { ALLOW_NAMES } from '../../dispatch/allow.js'
import { SubstratError } from '../../errors.js'
import { listAgents } from '../../operations/list-and-show.js'
import { listModels } from '../../operations/list-models.js'
import type { ProviderRegistry } from '../../provider/registry.js'
import type { Store } from '../../storage/store.js'

interface Word {
  word: string
  description: string
}

/** A person waits for the words. */
const MODELS_TIMEOUT_MS = 3000

/** The models of agents with that provider. Only if there are none is the provider asked. */
export async function modelWords(
  store: Store | undefined,
  providers: ProviderRegistry,
  provider: string,
): Promise<Word[]> {
  const used = new Set<string>()
  for (const agent of listAgents(store, { roots: false, all: true }))
    if ('model' in agent && agent.provider === provider && agent.model !== null) used.add(agent.model)
  if (used.size > 0) return [...used].map((word) => ({ word, description: 'of your agents' }))
  const request = { provider, options: {}, workspace: process.cwd(), timeoutMs: MODELS_TIMEOUT_MS }
  try {
    const { models } = await listModels(providers, request)
    return models.map(({ id, description }) => ({ word: id, description: description ?? '' }))
  } catch (error) {
    // A provider without a list, a key or a connection has no words to offer.
    if (error instanceof SubstratError) return []
    throw error
  }
}

export function toolWords(): Word[] {
  return ALLOW_NAMES.map((word) => ({ word, description: '' }))
}
