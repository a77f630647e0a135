/**
 * `providers add`: installs the package of a provider from a directory or a tarball, without npm and without its scripts.
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
import { listPlugin, readPluginList } from '../files/plugin-list.js'
import { isPlainObject } from '../format.js'
import type { ProviderRegistry } from '../provider/registry.js'
import { PLUGIN_PREDICATES } from '../schema/generated/plugin-predicates.js'
import type { AddedProviders } from '../schema/output-home.js'
import { exclusivelyInList } from './exclusively.js'

interface ProviderPackage {
  plugin: string
  version: string
  /** The providers that it has. */
  providers: string[]
}

export interface AddRequest {
  /** A directory or a tarball. */
  source: string
  /** oclif's list of plugins. Copies go beside it. */
  listPath: string
  copies: string
}

/** Throws USAGE for a package that has no provider, needs npm, or has a provider that another plugin has. */
export async function addProvider(
  registry: ProviderRegistry,
  { source, listPath, copies }: AddRequest,
): Promise<AddedProviders> {
  const files = await readPackageFiles(source)
  const found = packageOf(files, source)
  for (const name of found.providers) refuseTaken(registry, name, found.plugin)
  const work = { what: 'changing the list of plugins', command: 'substrat providers add' }
  return exclusivelyInList(listPath, work, () => {
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

function packageOf(files: PackageFiles, source: string): ProviderPackage {
  let manifest: unknown
  try {
    manifest = JSON.parse((files.get('package.json') as Buffer).toString('utf8'))
  } catch {
    throw noPackage(source, 'its package.json is not JSON')
  }
  if (!isPlainObject(manifest)) throw noPackage(source, 'its package.json is not an object')
  const { name, version, oclif, substrat, dependencies } = manifest
  if (typeof name !== 'string' || !/^(@[\w.-]+\/)?\w[\w.-]*$/.test(name))
    throw noPackage(source, 'its package.json has no name')
  if (typeof version !== 'string' || !/^\d[\w.+-]*$/.test(version))
    throw noPackage(source, 'its package.json has no version')
  const declared = isPlainObject(substrat) ? substrat.providers : undefined
  if (
    !isPlainObject(declared) ||
    Object.keys(declared).length === 0 ||
    !isPlainObject(oclif) ||
    PLUGIN_PREDICATES.plugin.providers?.(declared) !== true
  )
    throw noPackage(source, 'its package.json names no provider')
  const strange = Object.keys(declared).find((provider) => !/^[a-z\d][\w-]*$/i.test(provider))
  if (strange !== undefined)
    throw noPackage(
      source,
      `its provider has the name ${JSON.stringify(strange)}; letters, digits and - are allowed`,
    )
  if (isPlainObject(dependencies) && Object.keys(dependencies).length > 0) {
    throw new SubstratError('USAGE', `${source} needs other packages, which only npm can install`, {
      hint: `substrat plugins install ${shellWord(`file:${source}`)}`,
    })
  }
  const modules = Object.values(declared).map((file) => String(file).replace(/^\.\//, ''))
  const missing = modules.find((file) => !isInside(file) || !files.has(file))
  if (missing !== undefined)
    throw noPackage(source, `its file ${missing} is missing; in a clone, build it first: npm run build`)
  return { plugin: name, version, providers: Object.keys(declared) }
}

function refuseTaken(registry: ProviderRegistry, name: string, plugin: string): void {
  const other = registry.list().find((entry) => entry.name === name && entry.plugin !== plugin)
  if (other === undefined) return
  const isBuiltIn = other.version === null
  const why = isBuiltIn ? 'substrat has a provider of that name' : `the plugin ${other.plugin} provides it`
  throw new SubstratError('USAGE', `the provider ${name} cannot be installed: ${why}`, {
    hint: isBuiltIn ? 'rename it in its package.json' : `substrat plugins uninstall ${other.plugin}`,
  })
}

function installedOtherwise(plugin: string, source: string): SubstratError {
  return new SubstratError('USAGE', `${plugin} is already installed by substrat plugins`, {
    hint: `keep it, or replace it: substrat plugins uninstall ${plugin} && substrat providers add ${shellWord(source)}`,
  })
}
