/**
 * Starts the bundle from V8's compiled code in oclif's cache directory. Compiling the bundle would take most of a start.
 *
 * Invariants: compiled code is used only with exactly the source it was made from, and only if it is intact (V8 compares only
 * the length of the source, and damaged code crashes the process). It is used only if no other user could have written it: a
 * checksum is not a signature. An unusable cache costs only time.
 */
import { lstatSync, mkdirSync, readFileSync, renameSync, writeFileSync } from 'node:fs'
import { createRequire, Module } from 'node:module'
import { homedir } from 'node:os'
import { dirname, join } from 'node:path'
import { Script } from 'node:vm'
import { crc32 } from './crc32.js'
import { whyUntrusted } from './trust.js'

/** The exports of the bundle. */
interface Bundle {
  COMMANDS: Record<string, unknown>
  main(root: string, starter: { whyUntrusted(files: string[]): string | undefined }): unknown
}

interface SavedCode {
  code: Buffer
  /** The commands whose functions are in the cache. */
  commands: string[]
  isDue: boolean
}

interface Run {
  codeFile: string
  source: Buffer
  script: Script
  saved: SavedCode | undefined
  bundle: Bundle
}

const SAVED_WITHIN_MS = 10_000
/** Writing the cache again later also covers functions that only an older agent needs. */
const RENEWED_AFTER_MS = 24 * 60 * 60 * 1000

export function loadBundle(file: string): Bundle {
  const codeFile = codeFileFor(file)
  const source = readFileSync(file)
  const saved = readCode(codeFile, source)
  // The build writes plain ASCII, which Node decodes fastest as Latin-1.
  const text = source.toString('latin1')
  const script = new Script(`(function (exports, require, module, __filename, __dirname) {${text}\n})`, {
    filename: file,
    ...(saved === undefined ? {} : { cachedData: saved.code }),
  })
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

/** The file name depends on V8's flags: V8 rejects code compiled under other flags. */
function codeFileFor(file: string): string {
  const made = crc32(JSON.stringify([file, process.execArgv, process.env.NODE_OPTIONS])).toString(16)
  return join(cacheDir(), `${process.version}-${process.arch}-${made}.code`)
}

/** oclif's cache directory, computed before oclif is loaded. */
function cacheDir(): string {
  const { SUBSTRAT_CACHE_DIR, XDG_CACHE_HOME } = process.env
  const home = join(homedir(), process.platform === 'darwin' ? 'Library/Caches' : '.cache')
  return SUBSTRAT_CACHE_DIR || join(XDG_CACHE_HOME || home, 'substrat')
}

function readCode(codeFile: string, source: Buffer): SavedCode | undefined {
  try {
    const stat = lstatSync(codeFile, { throwIfNoEntry: false })
    if (stat === undefined) return undefined
    const why = whyUntrusted([codeFile], { isOwn: true })
    if (why !== undefined) {
      console.error(`substrat: warning: the compiled code ${codeFile} is not used: ${why}`)
      return undefined
    }
    const bytes = readFileSync(codeFile)
    const end = bytes.indexOf('\n')
    const header = JSON.parse(bytes.toString('utf8', 0, end))
    const code = bytes.subarray(end + 1)
    if (header.source !== crc32(source) || header.code !== crc32(code)) return undefined
    return { code, commands: header.commands, isDue: Date.now() - stat.mtimeMs > RENEWED_AFTER_MS }
  } catch {
    return undefined
  }
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
    // In another user's directory, a symlink could redirect the write to any file of ours.
    if (whyUntrusted([dirname(codeFile)], { isOwn: true }) !== undefined) return
    process.umask(0o077)
    const code = script.createCachedData()
    const header = { source: crc32(source), code: crc32(code), commands: [...new Set([...known, command])] }
    mkdirSync(dirname(codeFile), { recursive: true, mode: 0o700 })
    // All writers share one temporary name: killed writers leave at most one file, and a mixed file fails its checksum.
    writeFileSync(`${codeFile}.tmp`, Buffer.concat([Buffer.from(`${JSON.stringify(header)}\n`), code]), {
      mode: 0o600,
    })
    renameSync(`${codeFile}.tmp`, codeFile)
  } catch {}
}
