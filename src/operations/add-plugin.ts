/**
 * `plugins add`: installs a plugin from a directory or a tarball, without npm and without its scripts.
 *
 * A kill leaves the list of plugins as it was, or with the whole plugin: the copy is durable before the list names it. The same
 * command then completes the work.
 */
import { SubstratError, shellWord } from '../errors.js'
import {
  copiesOf,
  isInside,
  noPackage,
  type PackageFiles,
  placeCopy,
  readPackageFiles,
  removeCopy,
} from '../files/package-files.js'
import { listPlugin, readPluginList, unlistPlugin } from '../files/plugin-list.js'
import { type PluginPackage, pluginPackage } from '../provider/plugin-package.js'
import type { PluginFacts, ProviderRegistry } from '../provider/registry.js'
import { exclusivelyInList } from './exclusively.js'

/** oclif's list of plugins, and the directory of the copies beside it. */
export interface PluginPlace {
  listPath: string
  copies: string
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
  { listPath, copies, substratVersion }: PluginPlace,
): Promise<AddedPlugin | undefined> {
  const files = await readPackageFiles(source)
  const found = await pluginPackage(manifestIn(files, source), source, substratVersion)
  for (const name of found.providers) refuseTaken(registry, name, found.plugin)
  if (found.hasDependencies) return undefined
  const missing = found.modules.find((file) => !isInside(file) || !files.has(file))
  if (missing !== undefined)
    throw noPackage(source, `its file ${missing} is missing; in a clone, build it first: npm run build`)
  return exclusivelyInList(listPath, { ...CHANGING, command: 'substrat plugins add' }, () => {
    const listed = readPluginList(listPath).find(({ name }) => name === found.plugin)
    const isOurs = listed?.root?.startsWith(`${copies}/`) === true
    if (listed !== undefined && !isOurs) throw installedOtherwise(found.plugin, source)
    const base = found.plugin.replace('/', '+')
    const root = placeCopy(copies, base, files)
    listPlugin(listPath, { name: found.plugin, type: 'link', root })
    // The copy that was listed until now stays: a running command may still load it.
    for (const copy of copiesOf(copies, base)) if (copy !== root && copy !== listed?.root) removeCopy(copy)
    return { ...found, root, changed: listed?.root !== root }
  })
}

export const CHANGING = { what: 'changing the list of plugins' }

/** An official plugin needs no installation. A copy that an earlier version of substrat installed would replace it, so it leaves the list. */
export async function addOfficial(
  { name, root, pjson }: PluginFacts,
  { listPath, copies, substratVersion }: PluginPlace,
): Promise<AddedPlugin> {
  const found = await pluginPackage(pjson, name, substratVersion)
  return exclusivelyInList(listPath, { ...CHANGING, command: 'substrat plugins add' }, () => {
    const listed = readPluginList(listPath).find((plugin) => plugin.name === name)
    const isCopy = listed?.root?.startsWith(`${copies}/`) === true
    if (listed !== undefined && !isCopy) throw installedOtherwise(name, name)
    if (listed !== undefined) unlistPlugin(listPath, name)
    return { ...found, root, changed: listed !== undefined }
  })
}

export function manifestIn(files: PackageFiles, source: string): unknown {
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
