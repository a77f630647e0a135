/**
 * `plugins add`: installs a plugin from a directory or a tarball, without npm and without its scripts.
 *
 * A kill leaves the list of plugins as it was, or with the whole plugin: the copy is durable before the list names it. The same
 * command then completes the work.
 */
import { join } from 'node:path'
import { SubstratError, shellWord } from '../errors.js'
import {
  copiesOf,
  noPackage,
  type PackageFiles,
  placeCopy,
  readPackageFiles,
  removeCopy,
} from '../files/package-files.js'
import {
  type ListedPlugin,
  listPlugin,
  readPluginList,
  rootOfListed,
  unlistPlugin,
} from '../files/plugin-list.js'
import { isThere } from '../files/user-files.js'
import { isCopy, isOfficialName } from '../provider/official.js'
import { type PluginPackage, pluginPackage, refuseIncomplete } from '../provider/plugin-package.js'
import type { PluginFacts, ProviderRegistry } from '../provider/registry.js'
import { exclusivelyInList } from './exclusively.js'

/** oclif's list of plugins, and the directory of the copies beside it. */
export interface PluginPlace {
  listPath: string
  copies: string
  /** The directory of substrat's package. */
  root: string
  substratVersion: string
}

export interface AddedPlugin extends PluginPackage {
  root: string
  changed: boolean
}

/**
 * `source`: a directory or a tarball. Undefined for a package that needs npm. Throws USAGE for a package that is not a plugin, or has a
 * provider that another plugin has.
 */
export async function addPlugin(
  registry: ProviderRegistry,
  source: string,
  place: PluginPlace,
): Promise<AddedPlugin | undefined> {
  const { listPath, copies } = place
  const files = await readPackageFiles(source)
  const found = await checkedPackage(registry, files, source, place)
  if (found.hasDependencies) return undefined
  refuseIncomplete(found, files.keys(), source)
  return exclusivelyInList(listPath, { ...CHANGING, command: 'substrat plugins add' }, () => {
    const listed = listedCopy(place, found.plugin, source)
    const root = placeCopy(copies, baseOf(found.plugin), files)
    replaceCopy(place, listed, { name: found.plugin, type: 'link', root })
    return { ...found, root, changed: listed?.root !== root }
  })
}

export const CHANGING = { what: 'changing the list of plugins' }

/** Throws USAGE if the package is not a plugin that could be installed beside the others. */
export async function checkedPackage(
  registry: ProviderRegistry,
  files: PackageFiles,
  source: string,
  { root, substratVersion }: Pick<PluginPlace, 'root' | 'substratVersion'>,
): Promise<PluginPackage> {
  const found = await pluginPackage(manifestIn(files, source), source, substratVersion)
  const { plugin, providers } = found
  if (isOfficialName(root, plugin))
    throw new SubstratError('USAGE', `${plugin} comes with substrat, which uses its own`, {
      hint: 'give the package another name, or link its directory, which then replaces the official one',
      facts: { plugin },
    })
  for (const name of providers) refuseTaken(registry, name, plugin)
  return found
}

/** The copy of that plugin in the list. Throws USAGE if the plugin is listed, and is not a copy. */
function listedCopy(
  { listPath, copies }: PluginPlace,
  plugin: string,
  source: string,
): ListedPlugin | undefined {
  const listed = readPluginList(listPath).find(({ name }) => name === plugin)
  if (listed === undefined || isCopied(copies, listed)) return listed
  throw installedOtherwise(plugin, source)
}

/** Whether substrat has copied the plugin. */
export function isCopied(copies: string, { root }: ListedPlugin): boolean {
  return root !== undefined && isCopy(copies, root)
}

/** The name of a plugin as the name of its copies begins. */
export function baseOf(plugin: string): string {
  return plugin.replace('/', '+')
}

/** Lists a copy. The one that was listed until now stays: a running command may still load it. Those before it are removed. */
export function replaceCopy(
  { listPath, copies }: PluginPlace,
  listed: ListedPlugin | undefined,
  plugin: ListedPlugin,
): void {
  listPlugin(listPath, plugin)
  removeCopies(copies, plugin.name, [plugin.root, listed?.root])
  if (listed?.type === 'user') removeCopy(rootOfListed(listPath, listed))
}

/** `roots`: those of the plugins in the copies that stay. */
export function removeCopies(copies: string, plugin: string, roots: (string | undefined)[] = []): void {
  for (const copy of copiesOf(copies, baseOf(plugin)))
    if (roots.every((root) => root !== copy && !root?.startsWith(`${copy}/`))) removeCopy(copy)
}

/** An official plugin needs no installation. A copy that an earlier version of substrat installed leaves the list. */
export async function addOfficial(
  { name, root, pjson }: PluginFacts,
  { listPath, copies, substratVersion }: PluginPlace,
): Promise<AddedPlugin> {
  const found = await pluginPackage(pjson, name, substratVersion)
  const listed = readPluginList(listPath).find((plugin) => plugin.name === name)
  if (listed === undefined) return { ...found, root, changed: false }
  if (!isCopied(copies, listed) && isThere(join(rootOfListed(listPath, listed), 'package.json')))
    throw installedOtherwise(name, name)
  return exclusivelyInList(listPath, { ...CHANGING, command: 'substrat plugins add' }, () => {
    unlistPlugin(listPath, name)
    return { ...found, root, changed: true }
  })
}

function manifestIn(files: PackageFiles, source: string): unknown {
  try {
    return JSON.parse((files.get('package.json') as Buffer).toString('utf8'))
  } catch {
    throw noPackage(source, 'its package.json is not JSON')
  }
}

/** Throws USAGE if another installed plugin has a provider of that name. */
export function refuseTaken(registry: ProviderRegistry, name: string, plugin: string): void {
  const other = registry.list().find((entry) => entry.name === name && entry.plugin !== plugin)
  if (other === undefined) return
  const isBuiltIn = other.version === null
  // An installed provider replaces an official one of its name.
  if (other.isOfficial && !isBuiltIn) return
  const why = isBuiltIn ? 'substrat has a provider of that name' : `the plugin ${other.plugin} provides it`
  throw new SubstratError('USAGE', `the provider ${name} cannot be installed: ${why}`, {
    hint: isBuiltIn ? 'rename it in its package.json' : `substrat plugins uninstall ${other.plugin}`,
  })
}

function installedOtherwise(plugin: string, source: string): SubstratError {
  return new SubstratError('USAGE', `${plugin} is already installed by substrat plugins`, {
    hint: `keep it, or replace it: substrat plugins uninstall ${plugin} && substrat plugins add ${shellWord(source)}`,
  })
}
