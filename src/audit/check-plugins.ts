/**
 * Checks where providers come from: oclif's list of the user's plugins, the plugins in it, and the providers of living agents.
 * A damaged list hides every plugin.
 */

import { readPluginList } from '../files/plugin-list.js'
import type { ProviderRegistry } from '../provider/registry.js'
import type { State } from '../session/state.js'
import type { AddFinding } from './finding.js'

export interface PluginPlaces {
  /** oclif's list of the user's plugins. The file may be missing. */
  listPath: string
  /** Names of the plugins that oclif has loaded. */
  loaded: Set<string>
  registry: ProviderRegistry
}

/** Loads only the providers that agents use. */
export async function checkPlugins(
  { listPath, loaded, registry }: PluginPlaces,
  states: Iterable<State>,
  found: AddFinding,
): Promise<void> {
  for (const name of installedIn(listPath, found))
    if (!loaded.has(name))
      found('an installed plugin can be loaded', `the plugin ${name} cannot be loaded`, listPath)
  const agentsOf = new Map<string, string[]>()
  for (const { provider_name, state, path } of states)
    if (state !== 'terminated') agentsOf.set(provider_name, [...(agentsOf.get(provider_name) ?? []), path])
  for (const [provider, agents] of agentsOf) {
    try {
      await registry.load(provider)
    } catch (error) {
      const [first, ...others] = agents
      const who = others.length === 0 ? first : `${first} and ${others.length} more`
      found('the provider of an agent is installed', `${(error as Error).message}; used by ${who}`)
    }
  }
}

function installedIn(listPath: string, found: AddFinding): string[] {
  try {
    return readPluginList(listPath).map(({ name }) => name)
  } catch (error) {
    found('the list of plugins can be read', (error as Error).message, listPath)
    return []
  }
}
