/**
 * A kernel lock, which ends with its process. kill -9 releases it at once, and SIGSTOP does not. It also excludes
 * processes in other pid namespaces. It belongs to the open file description, so closing the file releases it.
 *
 * The home fixes the kind of lock, because `ofd` and `flock` locks do not exclude each other.
 */
import { spawnSync } from 'node:child_process'
import { createRequire } from 'node:module'
import { constants } from 'node:os'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { RUN_AGAIN, SubstratError } from '../../errors.js'
import { nameOf } from '../../host/disk/facts.js'
import * as io from '../../host/disk/io.js'
import { errnoOf, failure, isDoneUnless, type Operation } from '../../host/disk/operation.js'
import type { LockKind } from '../../schema/files.js'

export type LockSharing = 'exclusive' | 'shared'

/** A lock file removed after each of this many opens counts as busy: another process keeps removing it. */
const REMOVALS_MAX = 100

/**
 * Undefined if another process holds the lock. Never waits. After locking, the file must still have its name: a lock on
 * a file removed between open and lock excludes no other process.
 */
export function tryKernelLock(kind: LockKind, path: string, sharing: LockSharing): io.OpenFile | undefined {
  // A probe must work in a home that this process may only read.
  const mode = sharing === 'shared' ? 'read' : 'create'
  return tryLockNamed(kind, sharing, () => io.open('lock.open', path, mode))
}

/** Like tryKernelLock, for the file that `open` opens. */
export function tryLockNamed(
  kind: LockKind,
  sharing: LockSharing,
  open: () => io.OpenFile,
): io.OpenFile | undefined {
  for (let removals = 0; removals < REMOVALS_MAX; removals++) {
    const file = open()
    const locked = lockOpenFile(kind, file, sharing)
    if (locked === undefined || hasItsName(locked)) return locked
    io.close(locked)
  }
  return undefined
}

function hasItsName(file: io.OpenFile): boolean {
  try {
    return nameOf('lock.check', file) === 'same'
  } catch (error) {
    io.close(file)
    throw error
  }
}

/** Locks an open file. Closes it and returns undefined if another process holds the lock. */
export function lockOpenFile(
  kind: LockKind,
  file: io.OpenFile,
  sharing: LockSharing,
): io.OpenFile | undefined {
  let locked = false
  try {
    locked = kind === 'ofd' ? tryOfd(file, sharing) : tryFlock(file, sharing)
  } finally {
    if (!locked) io.close(file)
  }
  return locked ? file : undefined
}

/** The kind for a new home: `ofd` if the add-on loads, otherwise `flock` if flock(1) is installed. */
export function chooseLockKind(): LockKind {
  if (loadOfd() !== undefined) return 'ofd'
  if (flockThere()) return 'flock'
  throw new SubstratError('LOCK_UNSUPPORTED', 'substrat cannot take a kernel lock on this machine', {
    hint: `install util-linux, which provides flock, then ${RUN_AGAIN}`,
  })
}

type OfdTryLock = (fd: number, offset: number, length: number, exclusive: boolean) => void

let ofd: OfdTryLock | undefined

function loadOfd(): OfdTryLock | undefined {
  ofd ??= openPrebuilt() ?? openResolved()
  return ofd
}

const PREBUILT = join(
  'node_modules/fs-native-extensions/prebuilds',
  `${process.platform}-${process.arch}`,
  'fs-native-extensions.node',
)

/**
 * Loads the add-on by its path from the nearest node_modules, because the package's own resolver is slow
 * (src/start/README.md).
 */
function openPrebuilt(): OfdTryLock | undefined {
  for (let at = fileURLToPath(import.meta.url); at !== dirname(at); ) {
    at = dirname(at)
    const addon = { exports: {} as { tryLock: OfdTryLock } }
    try {
      process.dlopen(addon, join(at, PREBUILT))
      return addon.exports.tryLock
    } catch (error) {
      refuseWithoutDescriptors(error)
    }
  }
  return undefined
}

/** For a package whose add-on is at another path. */
function openResolved(): OfdTryLock | undefined {
  const require = createRequire(import.meta.url)
  try {
    return (require('fs-native-extensions/binding') as { tryLock: OfdTryLock }).tryLock
  } catch (error) {
    refuseWithoutDescriptors(error)
    return undefined
  }
}

/**
 * Throws if the add-on could not be opened for lack of descriptors: a passing shortage must not choose `flock` for a
 * new home.
 */
function refuseWithoutDescriptors(error: unknown): void {
  const { code, message } = error as NodeJS.ErrnoException
  if (code !== 'EMFILE' && code !== 'ENFILE' && !/too many open files/i.test(message)) return
  throw new SubstratError('STORAGE_FAILED', 'cannot open the add-on fs-native-extensions/: EMFILE', {
    hint: `too many open files: raise \`ulimit -n\`, then ${RUN_AGAIN}`,
    facts: { errno: 'EMFILE' },
    cause: error,
  })
}

function tryOfd(file: io.OpenFile, sharing: LockSharing): boolean {
  const tryLock = loadOfd()
  if (tryLock === undefined) throw unsupportedError('ofd', 'the add-on fs-native-extensions does not load')
  try {
    return isDoneUnless('EAGAIN', { ...lockStep(file), name: 'read' }, () =>
      tryLock(file.fd, 0, 0, sharing === 'exclusive'),
    )
  } catch (error) {
    const code = errnoOf(error)
    if (code === 'EACCES') return false
    if (code === 'EIO') throw failure(lockStep(file), (error as Error).cause)
    throw refusedError('ofd', `${nameOfErrno(code) ?? String(error)} on ${file.path}`)
  }
}

/** It counts as a read, because it changes nothing on disk. EIO means that the disk failed. Any other error means that the file system has no such lock. */
function lockStep({ path }: io.OpenFile): Operation {
  return { point: 'lock.take', name: 'lock', path }
}

/** flock(1) locks the file description that it inherits, so the lock stays with this process after flock(1) exits. */
function tryFlock(file: io.OpenFile, sharing: LockSharing): boolean {
  const flag = sharing === 'exclusive' ? '-x' : '-s'
  const done = spawnSync('flock', ['-n', '-E', '99', flag, '3'], {
    stdio: ['ignore', 'ignore', 'pipe', file.fd],
    env: { ...process.env, LC_ALL: 'C' },
    encoding: 'utf8',
  })
  if (done.status === 0) return true
  if (done.status === 99) return false
  if (done.stderr?.includes('Input/output error') === true)
    throw failure(lockStep(file), Object.assign(new Error(done.stderr.trim()), { code: 'EIO' }))
  if (done.error === undefined) throw refusedError('flock', `flock exited ${done.status} on ${file.path}`)
  throw unsupportedError('flock', 'flock(1) cannot be run')
}

/** libuv does not know ENOLCK, and calls it `Unknown system error -37`. */
function nameOfErrno(code: string | undefined): string | undefined {
  const [, number] = /-(\d+)$/.exec(code ?? '') ?? []
  const [name] = Object.entries(constants.errno).find(([, each]) => each === Number(number)) ?? [code]
  return name
}

/** The machine has the lock, but the file system of the home has not. */
function refusedError(kind: LockKind, why: string): SubstratError {
  return new SubstratError('LOCK_UNSUPPORTED', `the file system of the home has no ${kind} locks: ${why}`, {
    hint: 'set SUBSTRAT_HOME to a directory on a local disk; to see what a file system lacks, run: substrat selftest',
    facts: { lock: kind },
  })
}

function flockThere(): boolean {
  return spawnSync('flock', ['--version'], { stdio: 'ignore' }).status === 0
}

function unsupportedError(kind: LockKind, why: string): SubstratError {
  return new SubstratError(
    'LOCK_UNSUPPORTED',
    `this home uses ${kind} locks, which this process cannot take: ${why}`,
    {
      hint:
        kind === 'ofd'
          ? 'run `npm rebuild fs-native-extensions`, or install substrat again'
          : 'install util-linux, which provides flock',
      facts: { lock: kind },
    },
  )
}
