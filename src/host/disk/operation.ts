/**
 * One step that touches the disk. Each step has a name, its fault point (such as `log.append`). The fault hook is called before
 * the step: the crash laboratories count, record, fail or shorten steps there. A failed step names what failed, where, and the remedy.
 */

import * as fs from 'node:fs'
import { errnoName, SubstratError } from '../../errors.js'
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

export type OpenMode = 'read' | 'write' | 'create' | 'create_exclusive' | 'append'

export interface Operation {
  /** The fault point: which step of which protocol this is. */
  point: string
  name: OperationName
  path: string
  /** For open: whether it may make the file. */
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

/** From now on no link is followed at or below these directories. */
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
    confinement.refuseLinksTo(operation.path)
    if (operation.to !== undefined) confinement.refuseLinksTo(operation.to)
    const cut = faultHook?.(operation)
    return act(cut?.writtenBytesMax ?? Number.POSITIVE_INFINITY)
  } catch (error) {
    throw failure(operation, error)
  }
}

export function unless<T>(code: string, act: () => T): T | undefined {
  try {
    return act()
  } catch (error) {
    if (errnoOf(error) === code) return undefined
    throw error
  }
}

export function isDoneUnless(code: string, act: () => void): boolean {
  return (
    unless(code, () => {
      act()
      return true
    }) ?? false
  )
}

export function errnoOf(error: unknown): string | undefined {
  const cause = error instanceof SubstratError ? error.cause : error
  return (cause as NodeJS.ErrnoException | undefined)?.code
}

const SYNCS = new Set<OperationName>(['fdatasync', 'fsync', 'sync_directory'])

const REMEDIES: Record<string, string> = {
  ENOSPC: 'free some space on that file system, then run the same command again',
  EDQUOT: 'the disk quota is used up: free some space, then run the same command again',
  ENOENT:
    'it, or the home, was moved or deleted meanwhile: put it back, or set SUBSTRAT_HOME to where it is now, then run the same command again',
  EROFS: 'the file system is read-only: remount it for writing, or set SUBSTRAT_HOME to another place',
  EACCES:
    'the user that runs this has no right to it: run as its owner, or set SUBSTRAT_HOME to another place',
  EPERM:
    'the user that runs this has no right to it: run as its owner, or set SUBSTRAT_HOME to another place',
  EMFILE: 'too many open files: raise `ulimit -n`, then run the same command again',
  ENOTDIR: 'a file stands where a directory should be: move it away, or set SUBSTRAT_HOME to another place',
  ELOOP: 'a symbolic link stands where a file of ours should be: look who put it there, and move it away',
}

/** What went wrong, as one of ours; anything that is no error of the system is left as it is. */
export function failure(operation: Operation, error: unknown): unknown {
  const errno = errnoName(error)
  if (error instanceof SubstratError || errno === undefined) return error
  const facts = { errno, point: operation.point, path: operation.path }
  if (SYNCS.has(operation.name)) {
    return new SubstratError(
      'SYNC_FAILED',
      `cannot sync ${operation.path} (${errno}): what is on disk is unknown`,
      {
        hint: 'look at the disk (dmesg), then run the command again: it looks at what is there before it goes on',
        facts,
        cause: error,
      },
    )
  }
  return new SubstratError('STORAGE_FAILED', `cannot ${operation.name} ${operation.path}: ${errno}`, {
    hint: REMEDIES[errno] ?? 'look at the disk and its rights, then run the same command again',
    facts,
    cause: error,
  })
}
