/**
 * `plugins install`, `update`, `uninstall` and `link`: plugins that npm installs beside oclif's list, or that stay where they are.
 *
 * npm writes the list in place, so the command keeps a durable copy beside it until npm has ended (src/files/plugin-list.ts). A
 * kill leaves the list without the plugin or with it. Packages that npm left beside the list are not loaded.
 */
import { dirname, join, resolve } from 'node:path'
import { SubstratError } from '../errors.js'
import { noPackage, readPackageFiles } from '../files/package-files.js'
import {
  installedPackages,
  keepCopy,
  type ListedPlugin,
  listPlugin,
  makeList,
  readPluginList,
  restoreCopy,
  settleCopy,
  unlistPlugin,
} from '../files/plugin-list.js'
import { isThere, readUserFile } from '../files/user-files.js'
import { isPlainObject } from '../format.js'
import { type NpmResult, runNpm } from '../host/npm.js'
import { type PluginPackage, pluginPackage } from '../provider/plugin-package.js'
import type { ProviderRegistry } from '../provider/registry.js'
import { type AddedPlugin, CHANGING, manifestIn, refuseTaken } from './add-plugin.js'
import { exclusivelyInList } from './exclusively.js'
import { notInstalled } from './list-plugins.js'

export interface NpmPlace {
  registry: ProviderRegistry
  listPath: string
  substratVersion: string
  /** Whether npm's own messages are shown. */
  isVerbose: boolean
}

type Npm = (...args: string[]) => Promise<NpmResult>

/** A package as `npm install` takes it. `name`: undefined until npm has it, for an address. */
interface Wanted {
  spec: string
  name: string | undefined
  /** How the list says where it came from. */
  from: { tag: string } | { url: string }
}

const TAG = 'latest'
const ASKED = ['name', 'version', 'oclif', 'substrat', 'engines']

/**
 * Installs the package of that name (`NAME`, `NAME@VERSION`), path or address. Throws USAGE if it is not a plugin, or if npm
 * cannot install it. The list is then as before.
 */
export async function installPlugin(place: NpmPlace, source: string, isForced = false): Promise<AddedPlugin> {
  const { listPath, substratVersion, registry } = place
  return withNpm(place, 'install', async (npm) => {
    const wanted = await check(place, npm, source)
    const before = installedPackages(listPath)
    const flags = ['--omit=dev', '--install-links', ...(isForced ? ['--force'] : [])]
    done(await npm('install', wanted.spec, ...flags), `${source} was not installed`)
    const name = wanted.name ?? newcomer(before, installedPackages(listPath), source)
    const root = rootOf(listPath, name)
    try {
      const found = await readPackage(root, source, substratVersion)
      const missing = found.modules.find((file) => !isThere(join(root, file)))
      if (missing !== undefined) throw noPackage(source, `its file ${missing} is missing`)
      for (const provider of found.providers) refuseTaken(registry, provider, name)
      listPlugin(listPath, { name, type: 'user', ...wanted.from })
      return { ...found, root, changed: true }
    } catch (error) {
      if (!Object.hasOwn(before, name)) await npm('uninstall', name)
      throw error
    }
  })
}

/** Asks first what can be asked before anything is changed. */
async function check(place: NpmPlace, npm: Npm, source: string): Promise<Wanted> {
  const { substratVersion } = place
  const path = pathIn(source)
  if (path !== undefined) {
    const manifest = manifestIn(await readPackageFiles(path), source)
    const { plugin } = await pluginPackage(manifest, source, substratVersion)
    return { spec: `file:${path}`, name: plugin, from: { url: `file:${path}` } }
  }
  const [, name, tag = TAG] = /^((?:@[\w.~-]+\/)?[\w.~-]+)(?:@([^/:]+))?$/.exec(source) ?? []
  if (name === undefined) return { spec: source, name, from: { url: source } }
  const value = done(await npm('view', `${name}@${tag}`, ...ASKED), `${source} was not installed`)
  const facts = Array.isArray(value) ? value.at(-1) : value
  if (facts === undefined)
    throw failed(`${source} was not installed`, `the registry has no version ${tag} of ${name}`)
  // A registry may leave these fields out. The installed package is checked again.
  if (isPlainObject(facts) && facts.oclif !== undefined) await pluginPackage(facts, source, substratVersion)
  return { spec: `${name}@${tag}`, name, from: { tag } }
}

/** The absolute path, if the word is one: an address has a scheme, and `OWNER/NAME` is a repository of GitHub. */
function pathIn(source: string): string | undefined {
  const [, given] = /^file:(.+)$/.exec(source) ?? []
  if (given !== undefined) return resolve(given)
  const isPath = /^(\.{0,2}\/|\.{1,2}$)/.test(source) || /^[^:]*\.t(ar\.)?gz$/.test(source)
  return isPath ? resolve(source) : undefined
}

/** The package that an address has brought. npm names none. */
function newcomer(before: Record<string, string>, now: Record<string, string>, source: string): string {
  const names = Object.keys(now)
  const same = (spec: string | undefined): boolean =>
    spec !== undefined && shortAddress(spec) === shortAddress(source)
  const found = names.find((name) => before[name] !== now[name]) ?? names.find((name) => same(now[name]))
  if (found === undefined) throw failed(`${source} was not installed`, 'npm installed no package from it')
  return found
}

/** `owner/name` of the forms in which npm writes the address of a repository. */
function shortAddress(address: string): string {
  return address.replace(/^.*[:/]([^/:]+\/[^/]+?)(\.git)?(#.*)?$/, '$1')
}

/** Installs the newest version of each plugin that npm installed, as far as its tag allows. Returns what changed. */
export async function updatePlugins(place: NpmPlace): Promise<{ plugin: string; version: string }[]> {
  const { listPath } = place
  const plugins = readPluginList(listPath).filter(({ type }) => type === 'user')
  const versions = (): Map<string, string> =>
    new Map(plugins.map(({ name }) => [name, versionAt(rootOf(listPath, name))]))
  const before = versions()
  if (plugins.length === 0) return []
  await withNpm(place, 'update', async (npm) => {
    const addressed = plugins.filter(({ url }) => url !== undefined).map(({ name }) => name)
    const tagged = plugins.filter(({ url }) => url === undefined)
    const specs = tagged.map(({ name, tag = TAG }) => `${name}@${tag}`)
    if (addressed.length > 0) done(await npm('update', ...addressed), 'nothing was updated')
    if (specs.length > 0) done(await npm('install', '--omit=dev', ...specs), 'nothing was updated')
  })
  return [...versions()]
    .filter(([name, version]) => before.get(name) !== version)
    .map(([plugin, version]) => ({ plugin, version }))
}

/** Removes the plugin from the list, and its package if npm installed it. Throws USAGE for one that is not installed. */
export async function uninstallPlugin(place: NpmPlace, word: string): Promise<ListedPlugin> {
  const { listPath } = place
  const listed = readPluginList(listPath)
  const known = listed.find(({ name, root }) => name === word || root === resolve(word))
  if (known === undefined)
    throw notInstalled(
      word,
      listed.map(({ name }) => name),
    )
  if (known.type !== 'user')
    return exclusivelyInList(listPath, { ...CHANGING, command: 'substrat plugins uninstall' }, () => {
      unlistPlugin(listPath, known.name)
      return known
    })
  return withNpm(place, 'uninstall', async (npm) => {
    done(await npm('uninstall', known.name), `${known.name} was not uninstalled`)
    unlistPlugin(listPath, known.name)
    return known
  })
}

/** Lists the plugin in that directory, which stays there. npm installs its packages if it has a lockfile of npm. */
export async function linkPlugin(
  place: NpmPlace,
  { path, installs }: { path: string; installs: boolean },
): Promise<AddedPlugin> {
  const { listPath, substratVersion, registry, isVerbose } = place
  const root = resolve(path)
  const found = await readPackage(root, path, substratVersion)
  for (const provider of found.providers) refuseTaken(registry, provider, found.plugin)
  if (installs && isThere(join(root, 'package-lock.json'))) {
    const result = await runNpm({ args: ['install'], directory: root, isVerbose }, 'plugins link')
    done(result, `the packages of ${path} were not installed`)
  }
  return exclusivelyInList(listPath, { ...CHANGING, command: 'substrat plugins link' }, () => {
    const listed = readPluginList(listPath).find(({ name }) => name === found.plugin)
    listPlugin(listPath, { name: found.plugin, type: 'link', root })
    return { ...found, root, changed: listed?.root !== root }
  })
}

function withNpm<T>({ listPath, isVerbose }: NpmPlace, action: string, act: (npm: Npm) => Promise<T>) {
  const work = { ...CHANGING, command: `substrat plugins ${action}` }
  return exclusivelyInList(listPath, work, async () => {
    // Without it, npm would look for a package in the directories above.
    makeList(listPath)
    keepCopy(listPath)
    const directory = dirname(listPath)
    const npm: Npm = (...args) => runNpm({ args, directory, isVerbose }, `plugins ${action}`)
    try {
      const result = await act(npm)
      settleCopy(listPath)
      return result
    } catch (error) {
      restoreCopy(listPath)
      throw error
    }
  })
}

function rootOf(listPath: string, name: string): string {
  return join(dirname(listPath), 'node_modules', name)
}

async function readPackage(root: string, source: string, substratVersion: string): Promise<PluginPackage> {
  let manifest: unknown
  try {
    manifest = JSON.parse(readUserFile(join(root, 'package.json')))
  } catch (error) {
    throw noPackage(source, `its package.json cannot be read: ${(error as Error).message}`)
  }
  return pluginPackage(manifest, source, substratVersion)
}

function versionAt(root: string): string {
  try {
    const manifest: unknown = JSON.parse(readUserFile(join(root, 'package.json')))
    return isPlainObject(manifest) ? String(manifest.version) : ''
  } catch {
    return ''
  }
}

function done(result: NpmResult, what: string): unknown {
  if ('why' in result) throw failed(what, result.why)
  return result.value
}

function failed(what: string, why: string): SubstratError {
  return new SubstratError('USAGE', `${what}: ${why}`, {
    hint: 'no plugin was changed; check the name and the registry: npm config get registry',
  })
}
