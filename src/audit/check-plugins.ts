/**
 * Checks where providers come from: oclif's list of the user's plugins, the plugins in it, and the providers of living agents.
 * A truncated list without a copy hides every plugin.
 */

import { objectBeside, objectIn } from '../files/plugin-list.js'
import { readUserFile } from '../files/user-files.js'
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
  const reportUnreadable = (why: string): string[] => {
    found('the list of plugins can be read', why, listPath)
    return []
  }
  let text: string
  try {
    text = readUserFile(listPath)
  } catch (error) {
    const { facts, message } = error as { facts?: { errno?: unknown }; message: string }
    return facts?.errno === 'ENOENT' ? [] : reportUnreadable(message)
  }
  try {
    // As for other commands: the copy counts only while the list cannot be read. The next command that changes it restores it.
    const list = (objectIn(listPath) ?? objectBeside(listPath) ?? JSON.parse(text)) as {
      oclif?: { plugins?: unknown }
    } | null
    const plugins = list?.oclif?.plugins ?? []
    if (!Array.isArray(plugins)) return reportUnreadable(`oclif.plugins in ${listPath} is not a list`)
    return plugins.map((plugin: { name?: unknown } | null) => String(plugin?.name))
  } catch (error) {
    return reportUnreadable(`${listPath} is not JSON: ${(error as Error).message}`)
  }
}
