/**
 * oclif's list of the user's plugins: the package.json of its data directory.
 *
 * Invariant: the list can be read, or the copy beside it can. substrat replaces the list in one rename, but npm, which
 * `plugins install` runs, truncates it and then writes. So the command keeps a durable copy until npm has ended. A reader that
 * finds half a list reads the copy; the next command that writes the list restores it first.
 */
import { dirname } from 'node:path'
import { SubstratError, shellWord } from '../errors.js'
import { isPlainObject } from '../format.js'
import { makeDirectories } from './package-files.js'
import { isPlainFile, isThere, readUserFile, removeUserFile, writeUserFile } from './user-files.js'

export interface ListedPlugin {
  name: string
  /** `link`: the plugin stays in `root`. `user`: npm has installed it. */
  type: string
  root?: string
  /** Of `user`: the version or tag that was asked for, or the address it came from. */
  tag?: string
  url?: string
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
  writePluginList(path, { ...list, oclif })
  forgetCopy(path)
}

/** Takes the plugin out of the list, and out of the packages that npm would install again. Durable, as `listPlugin`. */
export function unlistPlugin(path: string, name: string): void {
  const list = parsedList(path)
  const others = pluginsOf(list, path).filter((plugin) => plugin.name !== name)
  const dependencies = { ...(isPlainObject(list.dependencies) ? list.dependencies : {}) }
  delete dependencies[name]
  const oclif = { schema: 1, ...(isPlainObject(list.oclif) ? list.oclif : {}), plugins: others }
  writePluginList(path, { ...list, dependencies, oclif })
  forgetCopy(path)
}

/** The specifiers of the packages that npm has installed beside the list, by name. */
export function installedPackages(path: string): Record<string, string> {
  const { dependencies } = parsedList(path)
  return isPlainObject(dependencies) ? (dependencies as Record<string, string>) : {}
}

/** Durable on return. A reader sees the old list or the new one. */
function writePluginList(path: string, list: object): void {
  makeDirectories(dirname(path))
  writeUserFile(path, `${JSON.stringify(list, null, 2)}\n`, 0o600)
}

/** An empty list, if there is none. */
export function makeList(path: string): void {
  if (!isThere(path)) writePluginList(path, parsedList(path))
}

/** Call before a program that writes the list in place. Durable on return. Restores a list that an earlier one damaged. */
export function keepCopy(path: string): void {
  const list = parsedList(path)
  pluginsOf(list, path)
  writePluginList(copyOf(path), list)
  if (isThere(path) && objectIn(path) === undefined) writePluginList(path, list)
}

/** Call after that program. Makes its list durable, or restores the one from before. */
export function settleCopy(path: string): void {
  if (isThere(path)) writePluginList(path, parsedList(path))
  forgetCopy(path)
}

/** Call instead of `settleCopy` if that program failed. */
export function restoreCopy(path: string): void {
  const before = objectIn(copyOf(path))
  if (before !== undefined) writePluginList(path, before)
  forgetCopy(path)
}

function forgetCopy(path: string): void {
  if (isThere(copyOf(path))) removeUserFile(copyOf(path))
}

/** The path of the copy. It exists only while a command installs or removes plugins, and after such a command was killed. */
export function copyOf(path: string): string {
  return `${path}.before`
}

/** The copy of a list that cannot be read, or the list itself, if a command has completed it since. */
export function objectBeside(path: string): Record<string, unknown> | undefined {
  return objectIn(copyOf(path)) ?? objectIn(path)
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

function parsedList(path: string): Record<string, unknown> {
  if (!isThere(path)) return { name: 'substrat', private: true, dependencies: {} }
  let list: unknown
  try {
    list = JSON.parse(readUserFile(path))
    if (isPlainObject(list)) return list
  } catch (error) {
    return objectBeside(path) ?? refuseDamaged(path, (error as Error).message)
  }
  return refuseDamaged(path, 'it is not a JSON object')
}

function refuseDamaged(path: string, why: string): never {
  throw damagedError(path, why)
}

function pluginsOf({ oclif }: Record<string, unknown>, path: string): ListedPlugin[] {
  const plugins = isPlainObject(oclif) ? (oclif.plugins ?? []) : []
  if (Array.isArray(plugins)) return plugins as unknown as ListedPlugin[]
  throw damagedError(path, 'its oclif.plugins is not a list')
}

/** One sentence for commands that run without the plugins. */
export function damageOf(path: string): string {
  const { message, hint } = damagedError(path, 'it is not a JSON object')
  return `${message}, so no plugin is loaded; ${hint}`
}

function damagedError(path: string, why: string): SubstratError {
  return new SubstratError('CONFIG_INVALID', `the list of plugins ${path} cannot be read: ${why}`, {
    hint: `move it away, then install the plugins again: mv ${shellWord(path)} ${shellWord(`${path}.damaged`)}`,
    facts: { path },
  })
}
