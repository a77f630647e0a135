/** Runs CommonJS modules from V8's compiled code (`saved-code.ts`). */
import { unlinkSync } from 'node:fs'
import { createRequire, Module } from 'node:module'
import { dirname } from 'node:path'
import { cacheDir, codeFileFor, readCode, scriptOf, writeCode } from './saved-code.js'
import { type SourceEncoding, WrappedSource } from './wrapped-source.js'

const SAVED_WITHIN_MS = 10_000

export interface SavedModule {
  module: NodeJS.Module
  /** Whether the code should be saved: none was there, it was another command's, or V8 refused it. */
  isDue: boolean
  /** Throws. */
  save(): void
}

export interface SavedModuleOptions {
  /**
   * It has code of its own, with no other command's functions: V8 takes the longer to restore code the more functions it has. At
   * first the command uses the code that another one saved, and writes an empty file. The next run deletes it, compiles the
   * functions that it needs, and saves them. If it fails, the run after it uses the other command's code again.
   */
  command?: string
  /** The content of the file. */
  source?: WrappedSource
  encoding?: SourceEncoding
  /** Members of `module` beside those of Node. */
  members?: object
  /** Gets a sentence if another user could have written the saved code. */
  warn?: (why: string) => void
}

export function runSaved(file: string, options: SavedModuleOptions = {}): SavedModule {
  const { command = '', encoding = 'utf8', members } = options
  const { source = WrappedSource.read(file, encoding) } = options
  const directory = cacheDir()
  const [ownFile, anyFile] = [codeFileFor(file, command, directory), codeFileFor(file, '', directory)]
  let warn = options.warn ?? (() => undefined)
  const read = (codeFile: string) =>
    readCode(codeFile, source, (why) => {
      warn(why)
      // A user who could write one file could mostly write the other.
      warn = () => undefined
    })
  const own = read(ownFile)
  const isMarked = own?.length === 0
  const compiles = isMarked && hasTaken(ownFile)
  const usesOwn = command === '' || (own !== undefined && !isMarked) || compiles
  const any = usesOwn ? undefined : read(anyFile)
  const saved = compiles ? undefined : isMarked ? any : (own ?? any)
  const script = scriptOf(file, source, saved)
  source.releaseMemory()
  const require = createRequire(file)
  const facts = { filename: file, paths: require.resolve.paths('_') ?? [] }
  const module = Object.assign(new Module(file), facts, members) as NodeJS.Module
  // A second `require` of the file must get this instance.
  require.cache[file] = module
  try {
    script.runInThisContext().call(module.exports, module.exports, require, module, file, dirname(file))
  } catch (error) {
    delete require.cache[file]
    throw error
  }
  module.loaded = true
  const isRefused = script.cachedDataRejected === true
  return {
    module,
    isDue: own === undefined || isMarked || isRefused,
    save: () => {
      if (any !== undefined && !isRefused) return mark(ownFile, source)
      const code = script.createCachedData()
      writeCode(ownFile, source, code)
      if (!usesOwn) writeCode(anyFile, source, code)
    },
  }
}

/** No code, in the place of code. Another run may have saved some meanwhile. */
function mark(codeFile: string, source: WrappedSource): void {
  if (readCode(codeFile, source, () => undefined) === undefined) writeCode(codeFile, source, Buffer.alloc(0))
}

/** Only one of several runs at once takes the mark away. */
function hasTaken(codeFile: string): boolean {
  try {
    unlinkSync(codeFile)
    return true
  } catch {
    return false
  }
}

const loaded: SavedModule[] = []

/**
 * Saves the code when the process ends. It has only functions that have run, so each command saves its own, at its first success.
 * If the code of one module is saved, that of all is: a provider's first turn also needs functions of the bundle that no
 * turn before has needed.
 */
export function saveAtExit(saved: SavedModule): void {
  if (loaded.push(saved) === 1) process.once('exit', saveLoaded)
}

function saveLoaded(exitCode: number): void {
  const modules = loaded.splice(0)
  if (!modules.some(({ isDue }) => isDue)) return
  if (exitCode !== 0 || process.argv.includes('--help') || process.argv.includes('-h')) return
  // During a long run V8 discards the code of functions that ran at the start.
  if (performance.now() > SAVED_WITHIN_MS) return
  const saves = modules.sort((one, other) => Number(other.isDue) - Number(one.isDue)).map(({ save }) => save)
  for (const step of [() => process.umask(0o077), ...saves]) attempt(step)
}

/** If it fails, the next process tries again. */
function attempt(step: () => void): void {
  try {
    step()
  } catch {}
}

/** In saved code, `import()` fails on Node 20. */
const IMPORT = /\bimport\s*[(/]/

/** Like `require` of a CommonJS module. A command that succeeds saves the code of the functions that it ran. */
export function requireSaved(module: string): unknown {
  const require = createRequire(module)
  const file = require.resolve(module)
  if (file in require.cache) return require(file)
  const source = WrappedSource.read(file, 'utf8')
  // Only Node's loader removes a `#!` line.
  if (source.startsWith('#!') || IMPORT.test(source.text)) return require(file)
  const [, , command = ''] = process.argv
  const saved = runSaved(file, { command, source })
  saveAtExit(saved)
  return saved.module.exports
}
