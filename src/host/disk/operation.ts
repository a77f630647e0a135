/**
 * One step that touches the disk. Each step has a name, its fault point (such as `log.append`). The fault hook runs
 * before each step; the crash laboratories count, record, fail or shorten steps there. The error of a failed step names
 * the operation, the path and the remedy.
 */

import * as fs from 'node:fs'
import { errnoName, RUN_AGAIN, SubstratError } from '../../errors.js'
import { Confinement } from './confinement.js'

type OperationName =
  | 'open'
  | 'read'
  | 'write'
  | 'truncate'
  | 'fdatasync'
  | 'fsync'
  | 'sync_directory'
  | 'rename'
  | 'link'
  | 'unlink'
  | 'mkdir'
  | 'rmdir'
  | 'lock'

export type OpenMode = 'read' | 'write' | 'create' | 'create_exclusive' | 'append'

export interface Operation {
  /** The fault point: which step of which protocol. */
  point: string
  name: OperationName
  path: string
  /** For open: whether it may create the file. */
  mode?: OpenMode
  /** For rename and link. */
  to?: string
  /** For write (with `bytes`) and truncate. */
  offset?: number
  bytes?: Uint8Array
}

export const confinement = new Confinement((path) =>
  fs.lstatSync(path, { throwIfNoEntry: false })?.isSymbolicLink(),
)

/** From now on, no symlink at or below these directories is followed. */
export function confine(directories: string[]): void {
  confinement.add(directories)
}

/** May throw (the operation fails), never return (the process ends), or shorten a write. */
export type FaultHook = (operation: Operation) => { writtenBytesMax: number } | undefined

let faultHook: FaultHook | undefined

export function setFaultHook(hook: FaultHook | undefined): void {
  faultHook = hook
}

export function step<T>(operation: Operation, act: (writtenBytesMax: number) => T): T {
  try {
    return attempt(operation, act)
  } catch (error) {
    throw failure(operation, error)
  }
}

/** Like `step`. Undefined for the expected error `code`, without the SubstratError of a failed step, which is slow to make. */
export function stepUnless<T>(code: string, operation: Operation, act: () => T): T | undefined {
  try {
    return attempt(operation, act)
  } catch (error) {
    if (errnoOf(error) === code) return undefined
    throw failure(operation, error)
  }
}

/** False for the expected error `code`, and if `act` returns false. */
export function isDoneUnless(code: string, operation: Operation, act: () => unknown): boolean {
  try {
    return attempt(operation, act) !== false
  } catch (error) {
    if (errnoOf(error) === code) return false
    throw failure(operation, error)
  }
}

function attempt<T>(operation: Operation, act: (writtenBytesMax: number) => T): T {
  confinement.refuseLinksTo(operation.path)
  if (operation.to !== undefined) confinement.refuseLinksTo(operation.to)
  const cut = faultHook?.(operation)
  return act(cut?.writtenBytesMax ?? Number.POSITIVE_INFINITY)
}

export function errnoOf(error: unknown): string | undefined {
  const cause = error instanceof SubstratError ? error.cause : error
  return (cause as NodeJS.ErrnoException | undefined)?.code
}

const SYNCS = new Set<OperationName>(['fdatasync', 'fsync', 'sync_directory'])

const REMEDIES: Record<string, string> = {
  ENOSPC: `free some space on that file system, then ${RUN_AGAIN}`,
  EDQUOT: `the disk quota is used up: free some space, then ${RUN_AGAIN}`,
  ENOENT: `the file or the home was moved or deleted: put it back, or set SUBSTRAT_HOME to its new path, then ${RUN_AGAIN}`,
  EROFS: 'the file system is read-only: remount it for writing, or set SUBSTRAT_HOME to another directory',
  EACCES:
    'this user lacks the permission: run as the owner of the file, or set SUBSTRAT_HOME to another directory',
  EPERM:
    'this user lacks the permission: run as the owner of the file, or set SUBSTRAT_HOME to another directory',
  EMFILE: `too many open files: raise \`ulimit -n\`, then ${RUN_AGAIN}`,
  ENOTDIR: 'a file is in the place of a directory: move it away, or set SUBSTRAT_HOME to another directory',
  ELOOP:
    'a symbolic link is in the place of a file of the home: find out who created the link, then move it away',
}

/** Turns an error of the operating system into a SubstratError. Returns any other error unchanged. */
export function failure(operation: Operation, error: unknown): unknown {
  const errno = errnoName(error)
  if (error instanceof SubstratError || errno === undefined) return error
  const facts = { errno, point: operation.point, path: operation.path }
  if (SYNCS.has(operation.name)) {
    return new SubstratError(
      'SYNC_FAILED',
      `cannot sync ${operation.path} (${errno}): its content on disk is unknown`,
      {
        hint: `check the disk (dmesg), then ${RUN_AGAIN}`,
        facts,
        cause: error,
      },
    )
  }
  return new SubstratError('STORAGE_FAILED', `cannot ${operation.name} ${operation.path}: ${errno}`, {
    hint: REMEDIES[errno] ?? `check the disk and the permissions, then ${RUN_AGAIN}`,
    facts,
    cause: error,
  })
}
