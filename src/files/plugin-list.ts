/**
 * oclif's list of the user's plugins: the package.json of its data directory.
 *
 * Invariant: the list is the old one or the new one. substrat alone writes it, in one rename: npm never runs in its directory.
 */
import { dirname, join } from 'node:path'
import { SubstratError, shellWord } from '../errors.js'
import { isPlainObject } from '../format.js'
import { makeDirectories } from './package-files.js'
import { isPlainFile, isThere, readUserFile, writeUserFile } from './user-files.js'

export interface ListedPlugin {
  name: string
  /** `link`: the plugin is in `root`. `user`: another program has installed it with npm, beside the list. */
  type: string
  root?: string
  /** A plugin that npm installed has one of them: the version or tag that was asked for, or the address it came from. */
  tag?: string
  url?: string
}

/** Throws CONFIG_INVALID for a list that cannot be read: writing it anew would lose its plugins. */
export function readPluginList(path: string): ListedPlugin[] {
  return pluginsOf(parsedList(path), path)
}

/** The directory of a listed plugin. */
export function rootOfListed(path: string, { root, name }: ListedPlugin): string {
  return root ?? join(dirname(path), 'node_modules', name)
}

/** Lists the plugin, in place of one with the same name. Durable: after a crash, the list is the old one or the new one. */
export function listPlugin(path: string, plugin: ListedPlugin): void {
  const list = parsedList(path)
  const others = pluginsOf(list, path).filter(({ name }) => name !== plugin.name)
  writePluginList(path, list, [...others, plugin])
}

/** Durable, as `listPlugin`. */
export function unlistPlugin(path: string, name: string): void {
  const list = parsedList(path)
  const others = pluginsOf(list, path).filter((plugin) => plugin.name !== name)
  writePluginList(path, list, others)
}

/** Only its plugins change, and the packages that another program would install again for them. */
function writePluginList(path: string, list: Record<string, unknown>, plugins: ListedPlugin[]): void {
  makeDirectories(dirname(path))
  const byNpm = new Set(plugins.filter(({ type }) => type === 'user').map(({ name }) => name))
  const dependencies = Object.fromEntries(
    Object.entries(fieldsOf(list.dependencies)).filter(([name]) => byNpm.has(name)),
  )
  const oclif = { schema: 1, ...fieldsOf(list.oclif), plugins }
  writeUserFile(path, `${JSON.stringify({ ...list, dependencies, oclif }, null, 2)}\n`, 0o600)
}

/** Undefined for a file that is missing, not regular, or not a whole JSON object. */
export function objectIn(path: string): Record<string, unknown> | undefined {
  try {
    const value: unknown = isPlainFile(path) ? JSON.parse(readUserFile(path)) : undefined
    return isPlainObject(value) ? value : undefined
  } catch {
    return undefined
  }
}

/** Undefined if a list has something else where its plugins are. */
export function entriesOf(list: Record<string, unknown>): ListedPlugin[] | undefined {
  const plugins = fieldsOf(list.oclif).plugins ?? []
  return Array.isArray(plugins) && plugins.every(isEntry) ? plugins : undefined
}

function isEntry(value: unknown): value is ListedPlugin {
  if (!isPlainObject(value) || typeof value.name !== 'string' || typeof value.type !== 'string') return false
  return value.root === undefined || typeof value.root === 'string'
}

function parsedList(path: string): Record<string, unknown> {
  if (!isThere(path)) return { name: 'substrat', private: true }
  let list: unknown
  try {
    list = JSON.parse(readUserFile(path))
  } catch (error) {
    throw damagedError(path, (error as Error).message)
  }
  if (isPlainObject(list)) return list
  throw damagedError(path, 'it is not a JSON object')
}

function pluginsOf(list: Record<string, unknown>, path: string): ListedPlugin[] {
  const plugins = entriesOf(list)
  if (plugins === undefined) throw damagedError(path, 'its oclif.plugins is not a list of plugins')
  return plugins
}

/** One sentence for commands that run without the plugins. Undefined for a list that can be read. */
export function damageOf(path: string): string | undefined {
  try {
    readPluginList(path)
  } catch (error) {
    const { message, hint } = error as SubstratError
    return `${message}, so no plugin is loaded; ${hint}`
  }
  return undefined
}

function damagedError(path: string, why: string): SubstratError {
  return new SubstratError('CONFIG_INVALID', `the list of plugins ${path} cannot be read: ${why}`, {
    hint: `move it away, then install the plugins again: mv ${shellWord(path)} ${shellWord(`${path}.damaged`)}`,
    facts: { path },
  })
}

function fieldsOf(value: unknown): Record<string, unknown> {
  return isPlainObject(value) ? value : {}
}
