/**
 * The code that oclif, and a provider of it, would load for the user's plugins: what decides on whether to load any.
 *
 * Nothing of it is imported here. A package is looked for as Node does it, in each directory above: in a sticky one,
 * such as /tmp, another user could put a package of that name.
 */
import { dirname, isAbsolute, join } from 'node:path'
import { isPlainFile, isThere, readUserFile } from '../files/user-files.js'

/** Paths, also of what may not be there. Empty for a list that cannot be read: then nothing is loaded. */
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

/** It is part of every start while there are plugins: no directory is looked at twice. */
class Search {
  readonly found = new Set<string>()
  private readonly hasPackages = new Map<string, boolean>()

  /** Every package of that name that could be taken, from the directory upwards. */
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
    // As Node does it: the file, or that with `.js`.
    const files = named.flatMap((file) => (typeof file === 'string' ? [file, `${file}.js`] : []))
    for (const file of ['package.json', 'oclif.manifest.json', 'node_modules', ...files])
      this.found.add(join(root, file))
    // A plugin may bring others, by their names or by patterns.
    const isBringing = Array.isArray(plugins) && plugins.length > 0
    if (isBringing) for (const name of Object.keys(fieldsOf(dependencies))) this.addPackages(name, root)
  }
}

/** The texts in a field that may have one, or several, or objects of them (`{ strategy, target, identifier }`). */
function textsIn(value: unknown): string[] {
  if (typeof value === 'string') return [value]
  return typeof value === 'object' && value !== null ? Object.values(value).flatMap(textsIn) : []
}

function fieldsOf(value: unknown): Record<string, unknown> {
  return typeof value === 'object' && value !== null ? (value as Record<string, unknown>) : {}
}

/** A pipe in its place is not waited for. */
function readJson(path: string): unknown {
  try {
    return isPlainFile(path) ? JSON.parse(readUserFile(path)) : undefined
  } catch {
    return undefined
  }
}
