/**
 * Tests as root that become another user. That user can reach neither a checkout below a private directory, as /root is, nor
 * a Node that is installed there.
 */
import { execFileSync } from 'node:child_process'
import { cpSync, mkdtempSync, rmSync, statSync } from 'node:fs'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { afterAll } from 'vitest'
import { temporaryDirectory } from './temp-directory.js'

/** The user who owns nothing, on Linux. */
export const NOBODY = 65534

const repository = path.resolve(import.meta.dirname, '../..')
/** The files of the package, and the native locks that a command needs. */
const COPIED = [
  'bin',
  'dist',
  'package.json',
  'oclif.manifest.json',
  ...['fs-native-extensions', 'require-addon', 'which-runtime'].map((name) => `node_modules/${name}`),
]
let copy: string | undefined

afterAll(() => {
  if (copy !== undefined) rmSync(copy, { recursive: true, force: true })
  copy = undefined
})

/** Why a test cannot become another user here. Undefined if it can. */
export function whyNoOtherUser(): string | undefined {
  if (process.getuid?.() !== 0) return 'only root can become another user'
  const closed = [process.execPath, temporaryDirectory()].find((file) => !isReachable(file))
  return closed === undefined ? undefined : `other users cannot reach ${closed}`
}

/** The checkout, or a copy of its program that every user can reach. */
export function reachableCheckout(): string {
  const isOpen = ['bin/run.js', 'dist/substrat.cjs'].every((file) => isReachable(path.join(repository, file)))
  if (process.getuid?.() !== 0 || isOpen) return repository
  if (copy === undefined) {
    copy = mkdtempSync(path.join(tmpdir(), 'substrat-test-'))
    for (const file of COPIED) cpSync(path.join(repository, file), path.join(copy, file), { recursive: true })
    execFileSync('chmod', ['-R', 'a+rX', copy])
  }
  return copy
}

/** Whether every user may read it, and pass each directory on the way. */
function isReachable(file: string): boolean {
  return (statSync(file).mode & 0o004) !== 0 && isPassable(path.dirname(file))
}

function isPassable(directory: string): boolean {
  const above = path.dirname(directory)
  return (statSync(directory).mode & 0o001) !== 0 && (above === directory || isPassable(above))
}
