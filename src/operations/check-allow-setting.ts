/** The setting `allow` counts for every agent: with a misspelt name, its tool would silently lack the right. */
import { unknownInSetting, unknownToolError } from '../dispatch/allow.js'
import { CHANNEL } from '../format.js'
import type { ProviderRegistry } from '../provider/registry.js'
import type { McpServer } from '../schema/config.js'
import type { Store } from '../storage/store.js'
import { listAgents } from './list-and-show.js'

export interface AllowSetting {
  allow: string[]
  /** As in the setting `mcp_servers`. */
  servers: Record<string, McpServer>
  /** The provider of new agents. */
  provider: string | null
}

/** Throws USAGE. Returns a sentence about names that only an agent program may know, whose tools substrat does not know. */
export async function checkAllowSetting(
  store: Store,
  providers: ProviderRegistry,
  { allow, servers, provider }: AllowSetting,
): Promise<string | undefined> {
  const unknown = unknownInSetting({ servers }, allow)
  const [first] = unknown
  if (first === undefined) return undefined
  if (!(await hasPrograms(store, providers, provider))) throw unknownToolError(first)
  return `substrat has no tool ${unknown.join(', ')}: only an agent program may have it`
}

async function hasPrograms(
  store: Store,
  providers: ProviderRegistry,
  byDefault: string | null,
): Promise<boolean> {
  const used = listAgents(store, { roots: false, all: false }).flatMap((agent) =>
    'provider' in agent ? [agent.provider] : [],
  )
  for (const name of new Set([...used, ...(byDefault === null ? [] : [byDefault])])) {
    if (name === CHANNEL) continue
    // One that cannot be loaded now may be a program.
    const kind = await providers.load(name).then(
      (loaded) => loaded.kind,
      () => 'agent',
    )
    if (kind === 'agent') return true
  }
  return false
}
