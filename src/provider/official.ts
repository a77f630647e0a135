/**
 * The plugins that come with substrat: their packages are beside its own files. They need no installation. A plugin of the same
 * name that the user has linked replaces one. A copy does not: an earlier version of substrat has made it.
 */
import { basename, dirname, join } from 'node:path'
import { isThere, listDirectory, readUserFile } from '../files/user-files.js'
import { isPlainObject } from '../format.js'
import type { PluginFacts } from './registry.js'

const DIRECTORY = /^(provider|channel|store)-|^serve$/

/** `root`: the directory of substrat's package. */
export function officialPlugins(root: string): PluginFacts[] {
  const parent = join(root, 'plugins')
  const names = listDirectory(parent).filter((name) => DIRECTORY.test(name))
  return names.sort().map((directory) => {
    const pjson = JSON.parse(readUserFile(join(parent, directory, 'package.json')))
    return { name: pjson.name, version: pjson.version, root: join(parent, directory), pjson }
  })
}

const NAME = /^substrat-((?:provider|channel|store)-[\w-]+|serve)$/

/** Looks at no more than one file: each command asks this of each listed plugin. */
export function isOfficialName(root: string, name: string): boolean {
  return officialRoot(root, name) !== undefined
}

function officialRoot(root: string, name: string): string | undefined {
  const [, directory] = NAME.exec(name) ?? []
  const at = directory === undefined ? undefined : join(root, 'plugins', directory)
  return at !== undefined && isThere(join(at, 'package.json')) ? at : undefined
}

/**
 * The directory of the official plugin that is used in place of a listed one: for a copy, and for a link to a directory without
 * a package.
 */
export function officialInPlaceOf(
  { name, root }: { name: string; root: string },
  places: PackagePlaces,
): string | undefined {
  const official = officialRoot(places.root, name)
  if (official === undefined) return undefined
  return isCopy(places.copies, root) || !isThere(join(root, 'package.json')) ? official : undefined
}

export interface PackagePlaces {
  /** The directory of substrat's package. */
  root: string
  /** The directory of the plugins that `plugins add` and `plugins install` have copied. */
  copies: string
}

/** `listPath`: oclif's list of plugins. The copies are beside it. */
export function packagePlaces(root: string, listPath: string): PackagePlaces {
  return { root, copies: join(dirname(listPath), 'providers') }
}

export function isCopy(copies: string, root: string): boolean {
  return root.startsWith(`${copies}/`)
}

/** The listed plugins without those that an official one replaces. */
export function usedPlugins<T extends PluginFacts>(places: PackagePlaces, listed: Iterable<T>): T[] {
  return [...listed].filter((plugin) => officialInPlaceOf(plugin, places) === undefined)
}

/** The plugins that are used: listed ones, and official ones. */
export function withOfficial(places: PackagePlaces, listed: Iterable<PluginFacts>): PluginFacts[] {
  const plugins = usedPlugins(places, listed)
  const names = new Set(plugins.map(({ name }) => name))
  return [...plugins, ...officialPlugins(places.root).filter(({ name }) => !names.has(name))]
}

/** The official plugin that a person means: by its package, its directory, or what it provides. */
export function officialPlugin(root: string, word: string): PluginFacts | undefined {
  return officialPlugins(root).find((plugin) => officialWords(plugin).includes(word))
}

/** The words that name an official plugin, the shortest first. */
export function officialWords({ name, root, pjson }: PluginFacts): string[] {
  const { providers, channels, stores } = isPlainObject(pjson.substrat) ? pjson.substrat : {}
  const provided = [providers, channels, stores].flatMap((each) =>
    isPlainObject(each) ? Object.keys(each) : [],
  )
  return [...provided, basename(root), name]
}
