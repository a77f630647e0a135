/**
 * A lock that dies with its process: kill -9 frees it at once, SIGSTOP does not free it, a container with other pids
 * sees it. It belongs to the open file description, so closing the file is the release.
 *
 * Its kind is a property of the home, because `ofd` and `flock` locks do not see each other.
 */
import { spawnSync } from 'node:child_process'
import { createRequire } from 'node:module'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { SubstratError } from '../../errors.js'
import { nameOf } from '../../host/disk/facts.js'
import * as io from '../../host/disk/io.js'
import type { LockKind } from '../home.js'

export type LockSharing = 'exclusive' | 'shared'

/** A file that is removed as often as it is opened is busy: another process is at work there. */
const REMOVALS_MAX = 100

/**
 * Undefined where somebody else has it. Never waits. The file that is locked is the one that has the name: a lock of a
 * file that was removed between opening and locking keeps nobody out.
 */
export function tryKernelLock(kind: LockKind, path: string, sharing: LockSharing): io.OpenFile | undefined {
  // A probe must work on a home that this process may only read.
  const mode = sharing === 'shared' ? 'read' : 'create'
  return tryLockNamed(kind, sharing, () => io.open('lock.open', path, mode))
}

/** The same for a file that `open` opens, however that is. */
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

/** Locks the file that is open, or closes it. */
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

/** The kind for a new home: `ofd` where the add-on loads, else `flock` where flock(1) is there. */
export function chooseLockKind(): LockKind {
  if (loadOfd() !== undefined) return 'ofd'
  if (flockThere()) return 'flock'
  throw new SubstratError('LOCK_UNSUPPORTED', 'this machine has no kernel lock that substrat can take', {
    hint: 'install util-linux (it has flock), then run the same command again',
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
 * The add-on in the nearest node_modules that has it, opened by its path. The resolver of that package is slow
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

/** Where the package is laid out otherwise. */
function openResolved(): OfdTryLock | undefined {
  const require = createRequire(import.meta.url)
  try {
    return (require('fs-native-extensions/binding') as { tryLock: OfdTryLock }).tryLock
  } catch (error) {
    refuseWithoutDescriptors(error)
    return undefined
  }
}

/** It is there, but cannot be opened now: that must not decide on the kind of a new home's locks. */
function refuseWithoutDescriptors(error: unknown): void {
  const { code, message } = error as NodeJS.ErrnoException
  if (code !== 'EMFILE' && code !== 'ENFILE' && !/too many open files/i.test(message)) return
  throw new SubstratError('STORAGE_FAILED', 'cannot open the add-on fs-native-extensions/: EMFILE', {
    hint: 'too many open files: raise `ulimit -n`, then run the same command again',
    facts: { errno: 'EMFILE' },
    cause: error,
  })
}

function tryOfd(file: io.OpenFile, sharing: LockSharing): boolean {
  const tryLock = loadOfd()
  if (tryLock === undefined)
    throw unsupportedError('ofd', 'the add-on fs-native-extensions does not load here')
  try {
    tryLock(file.fd, 0, 0, sharing === 'exclusive')
    return true
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException
    if (code === 'EAGAIN' || code === 'EACCES') return false
    throw unsupportedError('ofd', `${code ?? String(error)} on ${file.path}`)
  }
}

/** flock(1) locks the description that it inherits; the lock stays with us when it exits. */
function tryFlock(file: io.OpenFile, sharing: LockSharing): boolean {
  const flag = sharing === 'exclusive' ? '-x' : '-s'
  const done = spawnSync('flock', ['-n', '-E', '99', flag, '3'], {
    stdio: ['ignore', 'ignore', 'ignore', file.fd],
  })
  if (done.status === 0) return true
  if (done.status === 99) return false
  throw unsupportedError(
    'flock',
    done.error === undefined ? `flock exited ${done.status}` : 'flock(1) cannot be run',
  )
}

function flockThere(): boolean {
  return spawnSync('flock', ['--version'], { stdio: 'ignore' }).status === 0
}

function unsupportedError(kind: LockKind, why: string): SubstratError {
  return new SubstratError(
    'LOCK_UNSUPPORTED',
    `this home is locked with ${kind} locks, which this process cannot take: ${why}`,
    {
      hint:
        kind === 'ofd'
          ? 'run `npm rebuild fs-native-extensions`, or install substrat again'
          : 'install util-linux (it has flock)',
      facts: { lock: kind },
    },
  )
}
