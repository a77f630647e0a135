/**
 * Reads the user's plugins without oclif: the files that oclif and the registry would load for them, and the plugins that need
 * no oclif. substrat loads plugins only if it trusts all of these files.
 *
 * This module imports none of them. It searches each parent directory for a package, as Node does: in a sticky directory such
 * as /tmp, another user could create a package of that name.
 */
import { dirname, isAbsolute, join, resolve } from 'node:path'
import { damageOf, entriesOf, objectIn } from '../files/plugin-list.js'
import { isLink, isThere } from '../files/user-files.js'
import { officialInPlaceOf, packagePlaces } from '../provider/official.js'
import type { PluginFacts } from '../provider/registry.js'

export interface UserPlugins {
  /** Paths, including some that may not exist. */
  code: string[]
  /** Why the list cannot be read, and the way back. No plugin is loaded then. */
  damage: string | undefined
  /**
   * The plugins, if each one only provides: it has no hooks or plugins of its own. Our commands then run without oclif, which
   * takes longer than a start. A plugin's commands make no difference to ours, because ours come first. Undefined if oclif must
   * load the plugins, or report what is wrong with one.
   */
  providers: PluginFacts[] | undefined
}

/** `packageRoot`: the directory of substrat's package. */
export function readPlugins(listPath: string, packageRoot: string): UserPlugins {
  const search = new Search()
  const places = packagePlaces(packageRoot, listPath)
  const found = new Map<string, PluginFacts | undefined>()
  const list = objectIn(listPath)
  const entries = list && entriesOf(list)
  const listed = entries ?? []
  for (const { name, root: given, type } of listed) {
    const isLinked = type === 'link' && given !== undefined && isAbsolute(given)
    // In one form, because a symlink before `..` or a slash would lead elsewhere.
    const own = isLinked ? resolve(given) : ''
    const official = isLinked ? officialInPlaceOf({ name, root: own }, places) : undefined
    const root = official ?? own
    search.addPackages(name, isLinked ? root : dirname(listPath))
    if (isLinked) search.addPackage(root)
    const at = isLinked ? root : installedAt(type, name, listPath)
    found.set(name, at === undefined ? undefined : search.providerAt(at, name))
  }
  // A name that is listed twice is oclif's to sort out.
  const isClear = found.size === listed.length && ![...found.values()].includes(undefined)
  const damage = entries === undefined ? damageOf(listPath) : undefined
  return {
    code: [...search.found],
    damage,
    providers: isClear ? ([...found.values()] as PluginFacts[]) : undefined,
  }
}

/** Undefined if oclif could find the package elsewhere. */
function installedAt(type: string, name: string, listPath: string): string | undefined {
  const at = type === 'user' ? join(dirname(listPath), 'node_modules', name) : undefined
  return at === undefined || isLink(at) ? undefined : at
}

/** Runs at every start while plugins are installed, so it checks no directory and reads no package twice. */
class Search {
  readonly found = new Set<string>()
  private readonly hasPackages = new Map<string, boolean>()
  private readonly manifests = new Map<string, Record<string, unknown>>()

  /** Adds every package of that name that Node could choose, from the directory upwards. */
  addPackages(name: string, from: string): void {
    for (let at = from; ; ) {
      const packages = `${at}/node_modules`
      const isHere = this.hasPackages.get(at) ?? isThere(packages)
      this.hasPackages.set(at, isHere)
      if (isHere) this.addPackage(join(packages, name))
      const parent = dirname(at)
      if (at === parent) return
      at = parent
    }
  }

  addPackage(root: string): void {
    if (this.found.has(root)) return
    this.found.add(root)
    const manifest = fieldsOf(objectIn(`${root}/package.json`))
    this.manifests.set(root, manifest)
    const { main = 'index.js', oclif, substrat, dependencies } = manifest
    const { commands, hooks, plugins } = fieldsOf(oclif)
    const { providers, stores } = fieldsOf(substrat)
    const named = [main, ...[commands, hooks, providers, stores].flatMap(textsIn)]
    for (const file of ['package.json', 'oclif.manifest.json', 'node_modules'])
      this.found.add(`${root}/${file}`)
    for (const file of named.filter((each) => typeof each === 'string')) {
      const path = join(root, file)
      // Node loads the file itself, or the file with `.js`.
      this.found.add(path).add(`${path}.js`)
    }
    // A plugin may bring other plugins, by name or by pattern.
    const isBringing = Array.isArray(plugins) && plugins.length > 0
    if (isBringing) for (const name of Object.keys(fieldsOf(dependencies))) this.addPackages(name, root)
  }

  /** The package in that directory, if it has that name and nothing that changes our commands. */
  providerAt(root: string, listed: unknown): PluginFacts | undefined {
    const pjson = this.manifests.get(root) ?? {}
    const { name, version, oclif, substrat } = pjson
    if (name !== listed || typeof name !== 'string' || typeof version !== 'string') return undefined
    if (typeof oclif !== 'object' || oclif === null) return undefined
    if (Object.keys(oclif).some((key) => key !== 'commands')) return undefined
    return { name, version, root, pjson: { substrat } }
  }
}

/** All strings in a field, which may be a string, a list or an object (`{ strategy, target, identifier }`). */
function textsIn(value: unknown): string[] {
  if (typeof value === 'string') return [value]
  return typeof value === 'object' && value !== null ? Object.values(value).flatMap(textsIn) : []
}

function fieldsOf(value: unknown): Record<string, unknown> {
  return typeof value === 'object' && value !== null ? (value as Record<string, unknown>) : {}
}
