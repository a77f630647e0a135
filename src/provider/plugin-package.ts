/** The facts in a plugin's package.json, and the check that this substrat can use it. */
import { SubstratError } from '../errors.js'
import { isInside, noPackage } from '../files/package-files.js'
import { isPlainObject } from '../format.js'
import { PLUGIN_PREDICATES } from '../schema/generated/plugin-predicates.js'

export interface PluginPackage {
  plugin: string
  version: string
  /** The names of what it provides. */
  providers: string[]
  channels: string[]
  /** The schemes of the URLs of homes. */
  stores: string[]
  /** Whether it brings commands or hooks of oclif. */
  hasCommands: boolean
  /** Whether it needs other packages. */
  hasDependencies: boolean
  /** The modules of what it provides, relative to the package. */
  modules: string[]
  /** The same of oclif: each may be a directory, or a file without its extension. */
  commandModules: string[]
}

/** Throws USAGE for a package that is not a plugin, and for one that needs a newer substrat. `source`: the word of the person. */
export async function pluginPackage(
  manifest: unknown,
  source: string,
  substratVersion: string,
): Promise<PluginPackage> {
  if (!isPlainObject(manifest)) throw noPackage(source, 'its package.json is not an object')
  const { name, version, oclif, substrat, dependencies, engines } = manifest
  if (typeof name !== 'string' || !/^(@[\w~-][\w.~-]*\/)?\w[\w.-]*$/.test(name))
    throw noPackage(source, 'its package.json has no name')
  if (typeof version !== 'string' || !/^\d[\w.+-]*$/.test(version))
    throw noPackage(source, 'its package.json has no version')
  if (!isPlainObject(oclif)) throw noPackage(source, 'its package.json has no section oclif')
  await refuseNewer(isPlainObject(engines) ? engines.substrat : undefined, name, substratVersion)
  const declared = isPlainObject(substrat) ? substrat : {}
  const namesIn = (kind: 'providers' | 'channels' | 'stores'): string[] => {
    const names = declared[kind] ?? {}
    if (PLUGIN_PREDICATES.plugin[kind]?.(names) !== true)
      throw noPackage(source, `substrat.${kind} in its package.json does not map names to files`)
    const strange = Object.keys(names).find((each) => !/^[a-z\d][\w+.-]*$/i.test(each))
    if (strange === undefined) return Object.keys(names)
    throw noPackage(
      source,
      `one of its ${kind} has the name ${JSON.stringify(strange)}; letters, digits and - are allowed`,
    )
  }
  const [providers, channels, stores] = [namesIn('providers'), namesIn('channels'), namesIn('stores')]
  const modules = ['providers', 'channels', 'stores'].flatMap((kind) =>
    Object.values((declared[kind] ?? {}) as Record<string, string>),
  )
  const hasCommands = oclif.commands !== undefined || oclif.hooks !== undefined
  if (modules.length === 0 && !hasCommands)
    throw noPackage(source, 'its package.json names no provider, channel, store, command or hook')
  const hasDependencies = isPlainObject(dependencies) && Object.keys(dependencies).length > 0
  return {
    plugin: name,
    version,
    providers,
    channels,
    stores,
    hasCommands,
    hasDependencies,
    modules: modules.map(inPackage),
    commandModules: [oclif.commands, oclif.hooks].flatMap(targetsIn).map(inPackage).filter(isNamed),
  }
}

/** Throws USAGE if a module of the plugin is missing. `files`: the paths in its package. */
export function refuseIncomplete(
  { modules, commandModules }: PluginPackage,
  files: Iterable<string>,
  source: string,
): void {
  const paths = new Set(files)
  const ways = new Set([...paths].flatMap(waysTo))
  const missing =
    modules.find((file) => !isInside(file) || !paths.has(file)) ??
    commandModules.find((file) => !isInside(file) || !ways.has(file))
  if (missing !== undefined)
    throw noPackage(source, `its file ${missing} is missing; in a clone, build it first: npm run build`)
}

/** `a/b.js`, `a/b` and `a` for `a/b.js`. */
function waysTo(path: string): string[] {
  const parts = path.split('/')
  return [path.replace(/\.[^./]+$/, ''), ...parts.map((_, index) => parts.slice(0, index + 1).join('/'))]
}

/** Files of oclif: a path, `{"target": …}`, a list of both, or for hooks an object of those. */
function targetsIn(value: unknown): string[] {
  if (typeof value === 'string') return [value]
  if (Array.isArray(value)) return value.flatMap(targetsIn)
  if (!isPlainObject(value)) return []
  return 'target' in value ? targetsIn(value.target) : Object.values(value).flatMap(targetsIn)
}

function inPackage(file: string): string {
  return file.replace(/^\.\//, '').replace(/\/+$/, '')
}

/** The whole package is always there. */
function isNamed(file: string): boolean {
  return file !== '' && file !== '.'
}

/** `engines.substrat` is a range, as in the package.json of other hosts of plugins. */
async function refuseNewer(range: unknown, plugin: string, version: string): Promise<void> {
  if (typeof range !== 'string') return
  const { default: satisfies } = await import('semver/functions/satisfies.js')
  if (satisfies(version, range, { includePrerelease: true })) return
  throw new SubstratError('USAGE', `${plugin} needs substrat ${range}, and this is ${version}`, {
    hint: 'install a version of the plugin for this substrat, or another substrat: npm install --global substrat',
    facts: { plugin },
  })
}

/** The words for what the plugin brings, for people. */
export function broughtBy({ providers, channels, stores, hasCommands }: PluginPackage): string {
  const parts = [
    ...providers.map((name) => `provider ${name}`),
    ...channels.map((name) => `channel ${name}`),
    ...(stores.length === 0 ? [] : [`homes at ${stores.join(', ')}`]),
    ...(hasCommands ? ['commands'] : []),
  ]
  return parts.join(', ')
}
