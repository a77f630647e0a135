/** `plugins add`: chooses the way of installation for an official name, a path or the package of a registry. */
import { resolve } from 'node:path'
import { suggestion } from '../closest.js'
import { SubstratError, shellWord } from '../errors.js'
import { isThere } from '../files/user-files.js'
import { officialPlugin, officialPlugins, officialWords } from '../provider/official.js'
import { type AddedPlugin, addOfficial, addPlugin } from './add-plugin.js'
import { installPlugin, type NpmPlace } from './npm-plugins.js'

/** Throws PROVIDER_NOT_FOUND for a word that resembles an official name: a stranger could own that package. */
export async function addFromSource(place: NpmPlace, source: string): Promise<AddedPlugin> {
  const official = officialPlugin(place.root, source)
  if (official !== undefined) return addOfficial(official, place)
  if (!isPath(source)) {
    refuseSimilar(place.root, source)
    return installPlugin(place, source)
  }
  const path = resolve(source.replace(/^file:/, ''))
  return (await addPlugin(place.registry, path, place)) ?? (await installPlugin(place, path))
}

function refuseSimilar(root: string, word: string): void {
  const meant = suggestion(word, officialPlugins(root).flatMap(officialWords))
  if (meant === '') return
  throw new SubstratError(
    'PROVIDER_NOT_FOUND',
    `there is no official plugin ${JSON.stringify(word)}${meant}`,
    {
      hint: `list the official ones: substrat plugins --core; or install the package of npm: substrat plugins install ${shellWord(word)}`,
      facts: { plugin: word },
    },
  )
}

function isPath(source: string): boolean {
  return /^file:|^\.{0,2}[/\\]|\.t(ar\.)?gz$/.test(source) || isThere(source)
}
