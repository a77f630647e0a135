/**
 * V8's compiled code of our scripts, in oclif's cache directory.
 *
 * Invariants: compiled code is used only with exactly the source it was made from, and only if it is intact (V8 compares only
 * the length of the source, and damaged code crashes the process). It is used only if no other user could have written it: a
 * checksum is not a signature. An unusable cache costs only time.
 */
import { lstatSync, mkdirSync, readdirSync, renameSync, rmSync, writeFileSync } from 'node:fs'
import { homedir } from 'node:os'
import { dirname, join, resolve } from 'node:path'
import { Script } from 'node:vm'
import { crc32 } from './crc32.js'
import { whyUntrusted } from './trust.js'
import type { WrappedSource } from './wrapped-source.js'

/** Older code may lack functions that a command needs by now, or belong to another version. The next command makes what it needs. */
const REMOVED_AFTER_MS = 60 * 24 * 60 * 60 * 1000

/**
 * The file name depends on V8's flags: V8 rejects code compiled under other flags. `command`: the one whose functions the code has;
 * empty for a command without code of its own.
 */
export function codeFileFor(file: string, command: string, directory: string): string {
  const made = crc32(JSON.stringify([file, command, process.execArgv, process.env.NODE_OPTIONS])).toString(16)
  return `${directory}/${process.version}-${process.arch}-${made}.code`
}

/** oclif's cache directory, computed before oclif is loaded. A slash at its end would hide a symlink from `whyUntrusted`. */
export function cacheDir(): string {
  const { SUBSTRAT_CACHE_DIR, XDG_CACHE_HOME } = process.env
  const home = join(homedir(), process.platform === 'darwin' ? 'Library/Caches' : '.cache')
  return SUBSTRAT_CACHE_DIR ? resolve(SUBSTRAT_CACHE_DIR) : join(XDG_CACHE_HOME || home, 'substrat')
}

/** The code is valid until the next call with that source. `warn` gets a sentence if another user could have written the file. */
export function readCode(
  codeFile: string,
  source: WrappedSource,
  warn: (why: string) => void,
): Buffer | undefined {
  try {
    if (lstatSync(codeFile, { throwIfNoEntry: false }) === undefined) return undefined
    const why = whyUntrusted([codeFile], { isOwn: true })
    if (why !== undefined) {
      warn(`the compiled code ${codeFile} is not used: ${why}`)
      return undefined
    }
    const bytes = source.readInItsMemory(codeFile)
    const end = bytes.indexOf('\n')
    const header = JSON.parse(bytes.toString('utf8', 0, end))
    const code = bytes.subarray(end + 1)
    if (header.source !== source.crc || header.code !== crc32(code)) return undefined
    return code
  } catch {
    return undefined
  }
}

/** A CommonJS module, to be called with what Node gives one. */
export function scriptOf(file: string, source: WrappedSource, saved: Buffer | undefined): Script {
  return new Script(source.text, {
    filename: file,
    ...(saved === undefined ? {} : { cachedData: saved }),
  })
}

/** Changes nothing in another user's directory: there, a symlink could redirect the write to any file of ours. Throws. */
export function writeCode(codeFile: string, source: WrappedSource, code: Buffer): void {
  if (whyUntrusted([dirname(codeFile)], { isOwn: true }) !== undefined) return
  const header = { source: source.crc, code: crc32(code) }
  mkdirSync(dirname(codeFile), { recursive: true, mode: 0o700 })
  // All writers share one temporary name: killed writers leave at most one file, and a mixed file fails its checksum.
  writeFileSync(`${codeFile}.tmp`, Buffer.concat([Buffer.from(`${JSON.stringify(header)}\n`), code]), {
    mode: 0o600,
  })
  renameSync(`${codeFile}.tmp`, codeFile)
  removeOld(dirname(codeFile))
}

function removeOld(directory: string): void {
  for (const name of readdirSync(directory)) {
    const file = `${directory}/${name}`
    if (name.endsWith('.code') && Date.now() - lstatSync(file).mtimeMs > REMOVED_AFTER_MS)
      rmSync(file, { force: true })
  }
}
