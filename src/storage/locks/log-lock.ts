/**
 * A writer's second lock: a kernel lock on the log itself, held as long as `lock`. A person may remove the file `lock`
 * while it is held, and the next process then locks a new file. The log is never removed, so that process finds the log
 * locked, and the two writers still exclude each other.
 *
 * Only on a local file system. Elsewhere the lock directory is the second lock, and a lock on the log may block readers
 * (SMB). Readers take no lock and never block on one.
 */
import { SubstratError } from '../../errors.js'
import * as io from '../../host/disk/io.js'
import type { LockKind } from '../../schema/files.js'
import { tryLockNamed } from './kernel-lock.js'

/** `none`: the log is missing or not a writable file, so no process can append to it. */
export type LockedLog = io.OpenFile | 'none' | 'busy'

export function tryLockLog({ kind, isLocal }: { kind: LockKind; isLocal: boolean }, path: string): LockedLog {
  const open = (): io.OpenFile => io.open('log.open', path, 'write')
  try {
    return (isLocal ? tryLockNamed(kind, 'exclusive', open) : open()) ?? 'busy'
  } catch (error) {
    if (error instanceof SubstratError && NOT_WRITABLE.has(error.facts.errno as string)) return 'none'
    throw error
  }
}

const NOT_WRITABLE = new Set([
  'ENOENT',
  'ENOTDIR',
  'EISDIR',
  'ELOOP',
  'ENXIO',
  'EACCES',
  'EPERM',
  'EROFS',
  'ETXTBSY',
])
