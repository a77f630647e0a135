/** `plugins`: the installed plugins, their origin, and their parts. Runs no code of a plugin. */
import { join } from 'node:path'
import { suggestion } from '../closest.js'
import { SubstratError, shellWord } from '../errors.js'
import { type ListedPlugin, objectIn, readPluginList, rootOfListed } from '../files/plugin-list.js'
import { readUserFile } from '../files/user-files.js'
import { officialInPlaceOf, officialPlugins } from '../provider/official.js'
import { broughtBy, type PluginPackage, pluginPackage } from '../provider/plugin-package.js'
import type { PluginFacts } from '../provider/registry.js'
import type { InstalledPlugin } from '../schema/output-home.js'

export interface ListingPlaces {
  listPath: string
  /** The directory of the copies. */
  copies: string
  /** The directory of substrat's package. */
  root: string
  substratVersion: string
}

/** `withOfficial`: also those that come with substrat. */
export async function listPlugins(
  { listPath, copies, root, substratVersion }: ListingPlaces,
  withOfficial: boolean,
): Promise<InstalledPlugin[]> {
  const listed = readPluginList(listPath).map((plugin) => {
    const { name, type } = plugin
    const at = rootOfListed(listPath, plugin)
    const official = officialInPlaceOf({ name, root: at }, { root, copies })
    return official === undefined
      ? { name, type, from: originOf(plugin), root: at }
      : { name, type: 'official', from: 'substrat', root: official }
  })
  const names = new Set(listed.map(({ name }) => name))
  const official = officialPlugins(root).map(({ name, root }) => ({
    name,
    type: 'official',
    from: 'substrat',
    root,
  }))
  const shown = [...listed, ...(withOfficial ? official.filter(({ name }) => !names.has(name)) : [])]
  return Promise.all(
    shown.map(async (plugin) => {
      try {
        const manifest = JSON.parse(readUserFile(join(plugin.root, 'package.json')))
        return { ...plugin, ...factsOf(await pluginPackage(manifest, plugin.root, substratVersion)) }
      } catch (error) {
        const nothing = { version: null, providers: [], channels: [], stores: [], has_commands: false }
        return { ...plugin, ...nothing, brings: '', trouble: (error as Error).message }
      }
    }),
  )
}

/** The facts of the listed plugins, for a command that loads none of them. Leaves out those whose package cannot be read. */
export function listedFacts({
  listPath,
  copies,
  root,
}: Omit<ListingPlaces, 'substratVersion'>): PluginFacts[] {
  return readPluginList(listPath).flatMap((plugin) => {
    const at = rootOfListed(listPath, plugin)
    const found = officialInPlaceOf({ name: plugin.name, root: at }, { root, copies }) ?? at
    const pjson = objectIn(join(found, 'package.json'))
    return pjson === undefined
      ? []
      : [{ name: plugin.name, version: String(pjson.version), root: found, pjson }]
  })
}

/** Throws USAGE if no plugin has that name. */
export async function findPlugin(places: ListingPlaces, name: string): Promise<InstalledPlugin> {
  const plugins = await listPlugins(places, true)
  const found = plugins.find((plugin) => plugin.name === name)
  if (found !== undefined) return found
  throw notInstalled(
    name,
    plugins.map((plugin) => plugin.name),
  )
}

export function notInstalled(word: string, names: string[]): SubstratError {
  return new SubstratError(
    'USAGE',
    `the plugin ${shellWord(word)} is not installed${suggestion(word, names)}`,
    {
      hint: 'list the installed ones: substrat plugins',
    },
  )
}

function originOf({ type, root, url, tag }: ListedPlugin): string {
  const origin = url ?? (tag === undefined ? undefined : `npm, ${tag}`)
  return origin ?? (type === 'link' ? (root ?? 'a link') : 'npm')
}

function factsOf(found: PluginPackage) {
  const { version, providers, channels, stores, hasCommands } = found
  return {
    version,
    providers,
    channels,
    stores,
    has_commands: hasCommands,
    brings: broughtBy(found),
    trouble: null,
  }
}
