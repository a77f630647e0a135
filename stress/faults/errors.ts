/**
 * The errors that a disk step may return, and lasting conditions: a permanently full disk fails every step that needs
 * space, and no other.
 */
import type { Operation } from '../../src/host/disk/operation.js'
import type { Fault } from '../machine/process.js'
import { isSync } from './synced.js'

export type Errno = 'ENOSPC' | 'EDQUOT' | 'EIO' | 'EROFS' | 'EMFILE'

/** A new directory entry may need a block. */
const ENTRIES = new Set(['rename', 'link', 'mkdir'])
const REMOVALS = new Set(['unlink', 'rmdir', 'truncate'])
const NO_SPACE: Errno[] = ['ENOSPC', 'EDQUOT']

/** Every error that this step alone may return. */
export function errorsOf(operation: Operation): Errno[] {
  const { name } = operation
  if (name === 'open') {
    if (opensForRead(operation)) return ['EMFILE', 'EIO']
    return ['EMFILE', 'EIO', 'EROFS', ...(mayCreate(operation) ? NO_SPACE : [])]
  }
  if (name === 'read') return isListing(operation) ? ['EMFILE', 'EIO'] : ['EIO']
  if (name === 'sync_directory') return ['EIO', 'ENOSPC', 'EMFILE']
  if (isSync(operation)) return ['EIO', ...NO_SPACE]
  if (REMOVALS.has(name)) return ['EIO', 'EROFS']
  return ['EIO', 'EROFS', ...NO_SPACE]
}

/** How many bytes of the whole a short write takes. */
export const SHORT_WRITES: Record<string, (bytes: number) => number> = {
  'one byte': () => 1,
  half: (bytes) => Math.floor(bytes / 2),
  'all but one byte': (bytes) => bytes - 1,
}

/** A fault of the machine that lasts from one step until its repair. */
export interface Condition {
  name: string
  fault(operation: Operation): Fault
}

export const CONDITIONS: Condition[] = [
  { name: 'full', fault: (operation) => failIf('ENOSPC', needsSpace(operation)) },
  { name: 'over quota', fault: (operation) => failIf('EDQUOT', needsSpace(operation)) },
  { name: 'read-only', fault: (operation) => failIf('EROFS', changes(operation)) },
  {
    name: 'failing writes and syncs',
    fault: (operation) => failIf('EIO', changes(operation) || isSync(operation)),
  },
  { name: 'failing syncs', fault: (operation) => failIf('EIO', isSync(operation)) },
  { name: 'dead', fault: () => ({ errno: 'EIO' }) },
  { name: 'no descriptors', fault: (operation) => failIf('EMFILE', needsDescriptor(operation)) },
]

/** The disk fills up in the middle of a write: half of the data is written, and later writes fail. */
export const FILLING: Condition = {
  name: 'filling up',
  fault: (operation) => failIf('ENOSPC', needsSpace(operation)),
}

function failIf(errno: Errno, isHit: boolean): Fault {
  return isHit ? { errno } : undefined
}

function needsSpace(operation: Operation): boolean {
  const { name } = operation
  return name === 'write' || ENTRIES.has(name) || (name === 'open' && mayCreate(operation))
}

/** A read-only file system refuses an open for writing. */
export function changes(operation: Operation): boolean {
  const { name } = operation
  return (
    name === 'write' ||
    ENTRIES.has(name) ||
    REMOVALS.has(name) ||
    (name === 'open' && !opensForRead(operation))
  )
}

function needsDescriptor(operation: Operation): boolean {
  return operation.name === 'open' || operation.name === 'sync_directory' || isListing(operation)
}

function opensForRead({ mode }: Operation): boolean {
  return mode === undefined || mode === 'read'
}

function mayCreate({ mode }: Operation): boolean {
  return mode === 'create' || mode === 'create_exclusive' || mode === 'append'
}

function isListing({ name, point }: Operation): boolean {
  return name === 'read' && point.endsWith('.list')
}
