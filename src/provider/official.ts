/** The official providers, whose packages are beside substrat's own files. They are installed by `providers add`. */
import { join, resolve } from 'node:path'
import { suggestion } from '../closest.js'
import { SubstratError } from '../errors.js'
import { isThere, listDirectory, readUserFile } from '../files/user-files.js'
import { isPlainObject } from '../format.js'

export interface OfficialProvider {
  /** As `--provider` names it. */
  name: string
  plugin: string
  version: string
  description: string
  /** The directory of its package. */
  directory: string
}

/** `root`: the directory of substrat's package. */
export function officialProviders(root: string): OfficialProvider[] {
  const parent = join(root, 'plugins')
  const names = listDirectory(parent).filter((name) => name.startsWith('provider-'))
  return names.sort().flatMap((name) => providersOf(join(parent, name)))
}

/**
 * The directory or file that `providers add SOURCE` installs: of an official provider, or the path. Throws PROVIDER_NOT_FOUND for
 * a word that is neither.
 */
export function providerSource(root: string, source: string): string {
  const official = officialProviders(root)
  const found = official.find(({ name, plugin }) => name === source || plugin === source)
  if (found !== undefined) return found.directory
  if (/[/\\]|\.t(ar\.)?gz$/.test(source) || isThere(source)) return resolve(source)
  const names = official.map(({ name }) => name)
  throw new SubstratError(
    'PROVIDER_NOT_FOUND',
    `there is no official provider ${JSON.stringify(source)}${suggestion(source, names)}`,
    {
      hint: `official: ${names.join(', ')}; install another from a path: substrat providers add ./PACKAGE.tgz; or with npm: substrat plugins install PACKAGE`,
      facts: { provider: source },
    },
  )
}

function providersOf(directory: string): OfficialProvider[] {
  const { name, version, description, substrat } = JSON.parse(readUserFile(join(directory, 'package.json')))
  const providers = isPlainObject(substrat?.providers) ? Object.keys(substrat.providers) : []
  return providers.map((provider) => ({ name: provider, plugin: name, version, description, directory }))
}
