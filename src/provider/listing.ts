/** The list of `substrat providers`, including providers that cannot be loaded. */
import type { ProviderListing } from '../schema/output-home.js'
import type { ProviderRegistry } from './registry.js'

export function listProviders(registry: ProviderRegistry): Promise<ProviderListing[]> {
  return Promise.all(
    registry.list().map(async ({ name, plugin, version }) => {
      try {
        const { kind, description, options } = await registry.load(name)
        return { name, kind, plugin, version, description, options }
      } catch (error) {
        return {
          name,
          kind: 'broken' as const,
          plugin,
          version,
          description: (error as Error).message,
          options: {},
        }
      }
    }),
  )
}
