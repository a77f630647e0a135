/** Starts the bundle from V8's compiled code (`saved-code.ts`). Compiling the bundle would take most of a start. */
import { readFileSync } from 'node:fs'
import { createRequire, Module } from 'node:module'
import { dirname } from 'node:path'
import type { Script } from 'node:vm'
import { codeFileFor, readCode, type SavedCode, scriptOf, writeCode } from './saved-code.js'
import type { Starter } from './starter.js'

/** The exports of the bundle. */
interface Bundle {
  COMMANDS: Record<string, unknown>
  main(root: string, starter: Starter): unknown
}

interface Run {
  codeFile: string
  source: Buffer
  script: Script
  saved: SavedCode | undefined
  bundle: Bundle
}

const SAVED_WITHIN_MS = 10_000

export function loadBundle(file: string): Bundle {
  const codeFile = codeFileFor(file)
  const source = readFileSync(file)
  const saved = readCode(codeFile, source, (why) => console.error(`substrat: warning: ${why}`))
  // The build writes plain ASCII, which Node decodes fastest as Latin-1.
  const script = scriptOf(file, source.toString('latin1'), saved)
  const module = Object.assign(new Module(file), {
    filename: file,
    importModule: (specifier: string) => import(specifier),
  })
  // oclif requires the commands from this file name. It must get this instance, not a second one.
  const require = createRequire(file)
  require.cache[file] = module as NodeJS.Module
  script.runInThisContext()(module.exports, require, module, file, dirname(file))
  module.loaded = true
  const bundle = module.exports as Bundle
  process.once('exit', (exitCode) => saveCode(exitCode, { codeFile, source, script, saved, bundle }))
  return bundle
}

/** The cache has only functions that have run. So each command adds its own, at its first success and once a day. */
function saveCode(exitCode: number, { codeFile, source, script, saved, bundle }: Run): void {
  const known = script.cachedDataRejected ? [] : (saved?.commands ?? [])
  const command = process.argv[2] ?? ''
  const isOurs = Object.keys(bundle.COMMANDS).some((id) => id.split(':')[0] === command)
  const isKnown = known.includes(command) && saved?.isDue === false
  if (exitCode !== 0 || !isOurs || isKnown || process.argv.includes('--help')) return
  // During a long run V8 discards the code of functions that ran at the start.
  if (performance.now() > SAVED_WITHIN_MS) return
  try {
    process.umask(0o077)
    writeCode(codeFile, source, () => script.createCachedData(), [...new Set([...known, command])])
  } catch {}
}
