/**
 * The plugins that come with substrat: their packages are beside its own files. They need no installation. A plugin of the same
 * name in the user's list replaces one.
 */
import { basename, join } from 'node:path'
import { listDirectory, readUserFile } from '../files/user-files.js'
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

/** The listed plugins, and the official ones that the list does not replace. */
export function withOfficial(root: string, listed: Iterable<PluginFacts>): PluginFacts[] {
  const plugins = [...listed]
  const names = new Set(plugins.map(({ name }) => name))
  return [...plugins, ...officialPlugins(root).filter(({ name }) => !names.has(name))]
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
