/**
 * The second lock of a writer: a kernel lock of the log itself, held for as long as its `lock` is. The file `lock` may be
 * removed while it is held, and the next process then locks another file; the log is never removed, so that process
 * finds the log locked, and two writers exclude each other all the same.
 *
 * Only on a local file system: elsewhere the lock directory is the second lock, and a lock of the log itself may keep
 * readers out (SMB). Readers take no lock and are kept waiting by none.
 */
import { SubstratError } from '../../errors.js'
import * as io from '../../host/disk/io.js'
import type { LockKind } from '../home.js'
import { tryLockNamed } from './kernel-lock.js'

/** `none`: it is missing, or is no file that can be written, so nobody can append to it. */
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
