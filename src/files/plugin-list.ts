/** oclif's list of the user's plugins: the package.json of its data directory. */
import { dirname } from 'node:path'
import { SubstratError, shellWord } from '../errors.js'
import { isPlainObject } from '../format.js'
import { makeDirectories } from './package-files.js'
import { isThere, readUserFile, writeUserFile } from './user-files.js'

export interface ListedPlugin {
  name: string
  /** `link`: the plugin stays in `root`. `user`: npm has installed it. */
  type: string
  root?: string
}

/** Throws CONFIG_INVALID for a list that cannot be read: writing it anew would lose its plugins. */
export function readPluginList(path: string): ListedPlugin[] {
  return pluginsOf(parsedList(path), path)
}

/** Lists the plugin, in place of one with the same name. Durable: after a crash, the list is the old one or the new one. */
export function listPlugin(path: string, plugin: ListedPlugin): void {
  const list = parsedList(path)
  const others = pluginsOf(list, path).filter(({ name }) => name !== plugin.name)
  const oclif = { schema: 1, ...(isPlainObject(list.oclif) ? list.oclif : {}), plugins: [...others, plugin] }
  makeDirectories(dirname(path))
  writeUserFile(path, `${JSON.stringify({ ...list, oclif }, null, 2)}\n`, 0o600)
}

function parsedList(path: string): Record<string, unknown> {
  if (!isThere(path)) return { name: 'substrat', private: true, dependencies: {} }
  let list: unknown
  try {
    list = JSON.parse(readUserFile(path))
  } catch (error) {
    throw damagedError(path, (error as Error).message)
  }
  if (isPlainObject(list)) return list
  throw damagedError(path, 'it is not a JSON object')
}

function pluginsOf({ oclif }: Record<string, unknown>, path: string): ListedPlugin[] {
  const plugins = isPlainObject(oclif) ? (oclif.plugins ?? []) : []
  if (Array.isArray(plugins)) return plugins as unknown as ListedPlugin[]
  throw damagedError(path, 'its oclif.plugins is not a list')
}

function damagedError(path: string, why: string): SubstratError {
  return new SubstratError('CONFIG_INVALID', `the list of plugins ${path} cannot be read: ${why}`, {
    hint: `move it away, then install the plugins again: mv ${shellWord(path)} ${shellWord(`${path}.damaged`)}`,
    facts: { path },
  })
}
