/**
 * Lists the files that oclif and the registry would load for the user's plugins. substrat loads plugins only if it trusts all
 * of these files.
 *
 * This module imports none of them. It searches each parent directory for a package, as Node does: in a sticky directory such
 * as /tmp, another user could create a package of that name.
 */
import { dirname, isAbsolute, join } from 'node:path'
import { isPlainFile, isThere, readUserFile } from '../files/user-files.js'

/** Paths, including some that may not exist. Empty if the list cannot be read: then oclif loads no plugin. */
export function pluginCode(listPath: string): string[] {
  const { plugins } = fieldsOf(fieldsOf(readJson(listPath)).oclif)
  const search = new Search()
  for (const plugin of Array.isArray(plugins) ? plugins : []) {
    const { name, root, type } = fieldsOf(plugin)
    const isLinked = type === 'link' && typeof root === 'string' && isAbsolute(root)
    if (typeof name === 'string') search.addPackages(name, isLinked ? root : dirname(listPath))
    if (isLinked) search.addPackage(root)
  }
  return [...search.found]
}

/** Runs at every start while plugins are installed, so it checks no directory twice. */
class Search {
  readonly found = new Set<string>()
  private readonly hasPackages = new Map<string, boolean>()

  /** Adds every package of that name that Node could choose, from the directory upwards. */
  addPackages(name: string, from: string): void {
    for (let at = from; ; at = dirname(at)) {
      const packages = join(at, 'node_modules')
      const isHere = this.hasPackages.get(at) ?? isThere(packages)
      this.hasPackages.set(at, isHere)
      if (isHere) this.addPackage(join(packages, name))
      if (at === dirname(at)) return
    }
  }

  addPackage(root: string): void {
    if (this.found.has(root)) return
    this.found.add(root)
    const {
      main = 'index.js',
      oclif,
      substrat,
      dependencies,
    } = fieldsOf(readJson(join(root, 'package.json')))
    const { commands, hooks, plugins } = fieldsOf(oclif)
    const named = [main, ...[commands, hooks, fieldsOf(substrat).providers].flatMap(textsIn)]
    // Node loads the file itself, or the file with `.js`.
    const files = named.flatMap((file) => (typeof file === 'string' ? [file, `${file}.js`] : []))
    for (const file of ['package.json', 'oclif.manifest.json', 'node_modules', ...files])
      this.found.add(join(root, file))
    // A plugin may bring other plugins, by name or by pattern.
    const isBringing = Array.isArray(plugins) && plugins.length > 0
    if (isBringing) for (const name of Object.keys(fieldsOf(dependencies))) this.addPackages(name, root)
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

/** Does not open a pipe, which would block. */
function readJson(path: string): unknown {
  try {
    return isPlainFile(path) ? JSON.parse(readUserFile(path)) : undefined
  } catch {
    return undefined
  }
}
