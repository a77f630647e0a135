/** One step that touches the disk, and its failure in words: what, where, and what to do about it. */
import { errnoName, SubstratError } from '../../errors.js'

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
