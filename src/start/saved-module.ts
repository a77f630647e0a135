/** Runs CommonJS modules from V8's compiled code (`saved-code.ts`). */
import { readFileSync } from 'node:fs'
import { createRequire, Module } from 'node:module'
import { dirname } from 'node:path'
import { codeFileFor, readCode, scriptOf, writeCode } from './saved-code.js'

const SAVED_WITHIN_MS = 10_000

export interface SavedModule {
  module: NodeJS.Module
  /** The commands whose functions the saved code has. Undefined if there is none, or V8 refused it. */
  known: string[] | undefined
  /** A day old. */
  isDue: boolean
  /** Throws. */
  save(commands: string[]): void
}

export interface SavedModuleOptions {
  /** The content of the file. */
  source?: Buffer
  encoding?: 'latin1' | 'utf8'
  /** Members of `module` beside those of Node. */
  members?: object
  /** Gets a sentence if another user could have written the saved code. */
  warn?: (why: string) => void
}

export function runSaved(file: string, options: SavedModuleOptions = {}): SavedModule {
  const { source = readFileSync(file), encoding = 'utf8', members, warn } = options
  const codeFile = codeFileFor(file)
  const saved = readCode(codeFile, source, warn ?? (() => undefined))
  const script = scriptOf(file, source.toString(encoding), saved)
  const require = createRequire(file)
  const facts = { filename: file, paths: require.resolve.paths('_') ?? [] }
  const module = Object.assign(new Module(file), facts, members) as NodeJS.Module
  // A second `require` of the file must get this instance.
  require.cache[file] = module
  try {
    script.runInThisContext()(module.exports, require, module, file, dirname(file))
  } catch (error) {
    delete require.cache[file]
    throw error
  }
  module.loaded = true
  return {
    module,
    known: script.cachedDataRejected === true ? undefined : saved?.commands,
    isDue: saved?.isDue === true,
    save: (commands) => writeCode(codeFile, source, () => script.createCachedData(), commands),
  }
}

/**
 * Saves the code when the process ends. It has only functions that have run. So each command adds its own, at its first success and
 * once a day. `isOurs`: whether the command is one of those that use the module.
 */
export function saveAtExit(
  { known = [], isDue, save }: SavedModule,
  isOurs: (command: string) => boolean,
): void {
  process.once('exit', (exitCode) => {
    const [, , command = ''] = process.argv
    if (exitCode !== 0 || !isOurs(command) || (known.includes(command) && !isDue)) return
    if (process.argv.includes('--help')) return
    // During a long run V8 discards the code of functions that ran at the start.
    if (performance.now() > SAVED_WITHIN_MS) return
    try {
      process.umask(0o077)
      save([...new Set([...known, command])])
    } catch {
      // The next process tries again.
    }
  })
}

/** In saved code, `import()` fails on Node 20. Only Node's loader removes a `#!` line. */
const ONLY_BY_NODE = /^#!|\bimport\s*[(/]/

/** Like `require` of a CommonJS module. Each command that succeeds saves the functions that it ran. */
export function requireSaved(module: string): unknown {
  const require = createRequire(module)
  const file = require.resolve(module)
  if (file in require.cache) return require(file)
  const source = readFileSync(file)
  if (ONLY_BY_NODE.test(source.toString('latin1'))) return require(file)
  const saved = runSaved(file, { source })
  saveAtExit(saved, () => true)
  return saved.module.exports
}
