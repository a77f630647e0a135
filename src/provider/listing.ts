/** The list of `substrat providers`, including providers that cannot be loaded. */
import type { ProviderListing } from '../schema/output-home.js'
import type { Provider } from './contract.js'
import type { ProviderRegistry } from './registry.js'

/** `isListed`: the providers to load. */
export function listProviders(
  registry: ProviderRegistry,
  isListed: (name: string) => boolean = () => true,
): Promise<ProviderListing[]> {
  const entries = registry.list().filter(({ name }) => isListed(name))
  return Promise.all(
    entries.map(async ({ name, plugin, version }) => {
      try {
        const provider = await registry.load(name)
        const { kind, description, options } = provider
        const defaults = defaultsIn(options)
        return { name, kind, plugin, version, description, options, defaults, keys: keysOf(provider) }
      } catch (error) {
        const description = (error as Error).message
        const nothing = { options: {}, defaults: {}, keys: [] }
        return { name, kind: 'broken' as const, plugin, version, description, ...nothing }
      }
    }),
  )
}

/** The default is in parentheses at the end of an option's help, by the provider contract. */
function defaultsIn(options: Record<string, string>): Record<string, string> {
  const found = Object.entries(options).map(([name, help]) => [
    name,
    /\((?:default: )?([^()]+)\)$/.exec(help)?.[1],
  ])
  return Object.fromEntries(found.filter(([, value]) => value !== undefined))
}

/** The variables of an agent without settings. */
function keysOf(provider: Provider): string[] {
  return provider.secrets?.({ workspace: '/', model: null, instructions: null, options: {} }) ?? []
}
