/** Provider plugins that a test creates in its own directory. */
import { mkdirSync, writeFileSync } from 'node:fs'
import path from 'node:path'
import type { House } from './cli.js'

export interface PluginFiles {
  name: string
  version?: string
  /** Maps a provider's name to the source of its module. */
  providers: Record<string, string>
}

/** The directory of a plugin's package, as its author would have it. */
export function writePlugin(parent: string, { name, version = '1.0.0', providers }: PluginFiles): string {
  const directory = path.join(parent, name)
  mkdirSync(directory, { recursive: true })
  for (const [provider, source] of Object.entries(providers))
    writeFileSync(path.join(directory, `${provider}.js`), source)
  const fileOf = (provider: string): [string, string] => [provider, `./${provider}.js`]
  const manifest = {
    name,
    version,
    type: 'module',
    files: Object.keys(providers).map((provider) => `${provider}.js`),
    oclif: {},
    substrat: { providers: Object.fromEntries(Object.keys(providers).map(fileOf)) },
  }
  writeFileSync(path.join(directory, 'package.json'), JSON.stringify(manifest))
  return directory
}

/** Writes the files of `substrat plugins link`, which would take a second. */
export function linkPlugin(house: House, files: PluginFiles): void {
  listOnly(house, { type: 'link', name: files.name, root: writePlugin(house.root, files) })
}

/** A plugin whose `init` hook has that body, as the only one in the list. */
export function linkHooked(house: House, body: string): void {
  const root = path.join(house.root, 'hooked')
  mkdirSync(root, { recursive: true })
  const oclif = { hooks: { init: './init.js' } }
  writeFileSync(
    path.join(root, 'package.json'),
    JSON.stringify({ name: 'hooked', version: '1.0.0', type: 'module', oclif }),
  )
  writeFileSync(path.join(root, 'init.js'), `export default async () => { ${body} }`)
  listOnly(house, { type: 'link', name: 'hooked', root })
}

/** Writes the list of plugins. */
export function listOnly(house: House, ...plugins: unknown[]): void {
  const data = path.join(house.env.XDG_DATA_HOME as string, 'substrat')
  mkdirSync(data, { recursive: true })
  writeFileSync(
    path.join(data, 'package.json'),
    JSON.stringify({ name: 'substrat', private: true, dependencies: {}, oclif: { schema: 1, plugins } }),
  )
}

/** A model provider whose `complete` has that body, with `request` and `signal` in scope. */
export function modelProvider(body: string, before = ''): string {
  return `${before}
export default {
  kind: 'model',
  description: 'made by a test',
  options: {},
  async *complete(request, { signal }) {
    ${body}
  },
}
`
}
