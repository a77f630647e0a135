/** The list of `substrat providers`, including providers that cannot be loaded. */
import type { ProviderRegistry } from './registry.js'

export interface ProviderListing {
  name: string
  kind: 'model' | 'agent' | 'broken'
  plugin: string
  version: string | null
  description: string
  /** The names for `--option`, each with one line of help. */
  options: Record<string, string>
}

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
