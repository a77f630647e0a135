/**
 * `plugins install`, `update`, `uninstall` and `link`: plugins that npm installs, or that stay where they are.
 *
 * npm packs what it is asked for, substrat checks that tarball, and npm installs it with its packages in a new directory. The list
 * then names that directory in one step. So a failure or a kill at any time leaves the list with the plugin of before, complete, or
 * with the new one.
 */
import { join, resolve } from 'node:path'
import { SubstratError } from '../errors.js'
import {
  hasFiles,
  makeStage,
  noPackage,
  placeStage,
  readPackageFiles,
  removeCopy,
  tarballIn,
} from '../files/package-files.js'
import {
  type ListedPlugin,
  listPlugin,
  readPluginList,
  rootOfListed,
  unlistPlugin,
} from '../files/plugin-list.js'
import { isThere, readUserFile } from '../files/user-files.js'
import { type NpmResult, runNpm } from '../provider/npm.js'
import { pluginPackage, refuseIncomplete } from '../provider/plugin-package.js'
import type { ProviderRegistry } from '../provider/registry.js'
import {
  type AddedPlugin,
  baseOf,
  CHANGING,
  checkedPackage,
  isCopied,
  type PluginPlace,
  refuseTaken,
  removeCopies,
  replaceCopy,
} from './add-plugin.js'
import { exclusivelyInList } from './exclusively.js'
import { notInstalled } from './list-plugins.js'

export interface NpmPlace extends PluginPlace {
  registry: ProviderRegistry
  /** Whether npm's own messages are shown. */
  isVerbose: boolean
  /** Called if npm takes long. */
  onSlow(): void
}

/** A package as npm takes it, and how the list says where it came from. */
interface Wanted {
  spec: string
  from: { tag: string } | { url: string }
}

const TAG = 'latest'

/**
 * Installs the package of that name (`NAME`, `NAME@VERSION`), path or address. Throws USAGE if it is not a plugin, or if npm
 * cannot install it. The list is then as before. `isForced`: also if the same files are installed.
 */
export function installPlugin(place: NpmPlace, source: string, isForced = false): Promise<AddedPlugin> {
  return inList(place, 'install', () =>
    install(place, wanted(source), { source, isForced, action: 'install' }),
  )
}

async function install(
  place: NpmPlace,
  { spec, from }: Wanted,
  { source, isForced, action }: { source: string; isForced: boolean; action: 'install' | 'update' },
): Promise<AddedPlugin> {
  const { copies, listPath, registry, isVerbose, onSlow } = place
  const stage = makeStage(copies)
  const failure = `${source} was not ${action === 'install' ? 'installed' : 'updated'}`
  const npm = async (...args: string[]): Promise<void> =>
    refuseFailed(await runNpm({ args, directory: stage, isVerbose, onSlow }, `plugins ${action}`), failure)
  try {
    await npm('pack', '--pack-destination', stage, '--', spec)
    const tarball = tarballIn(stage)
    if (tarball === undefined) throw failed(failure, 'npm packed nothing')
    const files = await readPackageFiles(tarball)
    const found = await checkedPackage(registry, files, source, place)
    refuseIncomplete(found, files.keys(), source)
    const listed = readPluginList(listPath).find(({ name }) => name === found.plugin)
    const entry = { name: found.plugin, type: 'link', ...from }
    if (listed?.root !== undefined && isCopied(copies, listed) && !isForced && hasFiles(listed.root, files)) {
      listPlugin(listPath, { ...entry, root: listed.root })
      return { ...found, root: listed.root, changed: false }
    }
    await npm('install', '--omit=dev', '--install-strategy=hoisted', '--', tarball)
    removeCopy(tarball)
    const root = join(placeStage(stage, baseOf(found.plugin)), 'node_modules', found.plugin)
    replaceCopy(place, listed, { ...entry, root })
    return { ...found, root, changed: true }
  } finally {
    removeCopy(stage)
  }
}

/** Refuses a path that does not exist: npm could take it for something else. */
function wanted(source: string): Wanted {
  const path = pathIn(source)
  if (path !== undefined) {
    if (!isThere(path)) throw noPackage(path, 'there is no such file or directory')
    return { spec: `file:${path}`, from: { url: `file:${path}` } }
  }
  const [, name, tag = TAG] = /^((?:@[\w.~-]+\/)?[\w.~-]+)(?:@([^/:]+))?$/.exec(source) ?? []
  return name === undefined
    ? { spec: source, from: { url: source } }
    : { spec: `${name}@${tag}`, from: { tag } }
}

/** The absolute path, if the word is one: an address has a scheme, and `OWNER/NAME` is a repository of GitHub. */
function pathIn(source: string): string | undefined {
  const [, given] = /^file:(.+)$/.exec(source) ?? []
  if (given !== undefined) return resolve(given)
  const isPath = /^(\.{0,2}\/|\.{1,2}$)/.test(source) || /^[^:]*\.t(ar\.)?gz$/.test(source)
  return isPath ? resolve(source) : undefined
}

export interface Updated {
  updated: { plugin: string; version: string }[]
  /** The first failure. The other plugins are updated. */
  failure: SubstratError | undefined
}

/** Installs the newest version of each plugin that npm installed, as far as its tag allows. Returns what changed. */
export async function updatePlugins(place: NpmPlace): Promise<Updated> {
  const result: Updated = { updated: [], failure: undefined }
  for (const { name, type, tag, url } of readPluginList(place.listPath)) {
    if (type !== 'user' && tag === undefined && url === undefined) continue
    const update = (): Promise<AddedPlugin> =>
      install(place, wanted(url ?? `${name}@${tag ?? TAG}`), {
        source: name,
        isForced: false,
        action: 'update',
      })
    try {
      const { plugin, version, changed } = await inList(place, 'update', update)
      if (changed) result.updated.push({ plugin, version })
    } catch (error) {
      if (!(error instanceof SubstratError)) throw error
      result.failure ??= error
    }
  }
  return result
}

/** Removes the plugin from the list, then its copies. Throws USAGE for one that is not installed. */
export async function uninstallPlugin(
  { listPath, copies }: PluginPlace,
  word: string,
): Promise<ListedPlugin> {
  const listed = readPluginList(listPath)
  const known = listed.find(({ name, root }) => name === word || root === resolve(word))
  if (known === undefined)
    throw notInstalled(
      word,
      listed.map(({ name }) => name),
    )
  return exclusivelyInList(listPath, { ...CHANGING, command: 'substrat plugins uninstall' }, () => {
    unlistPlugin(listPath, known.name)
    if (known.type === 'user') removeCopy(rootOfListed(listPath, known))
    else if (isCopied(copies, known)) removeCopies(copies, known.name)
    return known
  })
}

/** Lists the plugin in that directory, which stays there. npm installs its packages if it has a lockfile of npm. */
export async function linkPlugin(
  place: NpmPlace,
  { path, installs }: { path: string; installs: boolean },
): Promise<AddedPlugin> {
  const { listPath, substratVersion, registry, isVerbose, onSlow } = place
  const root = resolve(path)
  const found = await pluginPackage(readManifest(root, path), path, substratVersion)
  for (const provider of found.providers) refuseTaken(registry, provider, found.plugin)
  if (installs && isThere(join(root, 'package-lock.json'))) {
    const run = { args: ['install'], directory: root, isVerbose, onSlow }
    refuseFailed(await runNpm(run, 'plugins link'), `the packages of ${path} were not installed`)
  }
  return inList(place, 'link', () => {
    const listed = readPluginList(listPath).find(({ name }) => name === found.plugin)
    listPlugin(listPath, { name: found.plugin, type: 'link', root })
    return { ...found, root, changed: listed?.root !== root }
  })
}

function inList<T>({ listPath }: PluginPlace, action: string, act: () => T | Promise<T>): Promise<T> {
  return exclusivelyInList(listPath, { ...CHANGING, command: `substrat plugins ${action}` }, act)
}

function readManifest(root: string, source: string): unknown {
  try {
    return JSON.parse(readUserFile(join(root, 'package.json')))
  } catch (error) {
    throw noPackage(source, `its package.json cannot be read: ${(error as Error).message}`)
  }
}

function refuseFailed(result: NpmResult, what: string): void {
  if (result !== undefined) throw failed(what, result.why)
}

function failed(what: string, why: string): SubstratError {
  return new SubstratError('USAGE', `${what}: ${why}`, {
    hint: 'the plugin is as before; check the name and the registry: npm config get registry',
  })
}
