/**
 * Files that belong to the user, by names that the user gave: settings, exports, scenarios. Here `write-file-atomic`
 * serves, for the mode, owner and symlink of what it replaces; it takes a short write for a whole one, and does not sync
 * the directory, so the length is checked and the name synced afterwards.
 */
import { dirname } from 'node:path'
import { SubstratError } from '../errors.js'
import * as io from './io.js'

/** UTF-8 text. Throws where it cannot be read; the caller says what the file was for. */
export function readUserFile(path: string): string {
  return io.readFollowing('user_file.read', path).toString('utf8')
}

/** `mode` is that of a new file; by default what the user's umask says. An old one keeps its own. */
export async function writeUserFile(path: string, text: string, mode?: number): Promise<void> {
  const { default: writeFileAtomic } = await import('write-file-atomic')
  const bytes = Buffer.from(text)
  try {
    const isNew = mode !== undefined && io.statIfThere('user_file.stat', path) === undefined
    await writeFileAtomic(path, bytes, isNew ? { mode } : {})
    const written = io.statIfThere('user_file.stat', path)?.sizeBytes ?? 0
    if (written !== bytes.length)
      throw Object.assign(new Error(`only ${written} of ${bytes.length} bytes were written`), {
        code: 'ENOSPC',
      })
  } catch (error) {
    const { code, message } = error as NodeJS.ErrnoException
    // Without its "open '…'": the temporary file is nobody's business.
    throw new SubstratError('STORAGE_FAILED', `cannot write ${path}: ${message.replace(/, \w+ '.*'$/, '')}`, {
      hint: 'check the space and the rights there, then run the same command again',
      facts: { path, errno: code ?? null },
      cause: error,
    })
  }
  syncName(path)
}

/** The library renames and leaves it at that: after a power cut the file that we said is written would be the old one. */
function syncName(path: string): void {
  try {
    io.syncDirectory('user_file.sync_directory', dirname(io.realPath('user_file.realpath', path)))
  } catch (error) {
    // A directory that the user may write in and not read cannot be synced.
    if ((error as SubstratError).facts?.errno !== 'EACCES') throw error
  }
}

export function isThere(path: string): boolean {
  return io.statIfThere('user_file.stat', path) !== undefined
}

export function isDirectory(path: string): boolean {
  return io.statIfThere('user_file.stat', path)?.kind === 'directory'
}
