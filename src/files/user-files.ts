/**
 * Files that belong to the user, by names that the user gave: settings, exports, scenarios. One that is replaced keeps its
 * mode and its owner, and what a link leads to is replaced, not the link.
 *
 * What is on disk if we die: the old file, or the new one; and a temp beside it, which in the home is swept.
 */
import { dirname } from 'node:path'
import { SubstratError } from '../errors.js'
import { lstatIfThere, realPathIfThere, statIfThere } from '../host/disk/facts.js'
import * as io from '../host/disk/io.js'
import { replace } from '../host/disk/replace.js'

/** UTF-8 text. Throws where it cannot be read; the caller says what the file was for. */
export function readUserFile(path: string): string {
  return io.readFollowing('user_file.read', path).toString('utf8')
}

/** Durable when it returns. `mode` is that of a new file; by default what the user's umask says. An old one keeps its own. */
export function writeUserFile(path: string, text: string, mode = 0o666 & ~process.umask()): void {
  syncName(replaceAt(path, Buffer.from(text), mode))
}

/** Where it is, behind whatever links lead to it. */
function replaceAt(path: string, bytes: Buffer, mode: number): string {
  try {
    const found = realPathIfThere('user_file.realpath', path)
    // Of /dev/stdout, too, where the file that it leads to was removed.
    if (found === undefined && lstatIfThere('user_file.lstat', path)?.kind === 'link')
      throw unwritableError(path, 'it is a link that leads to no file')
    const real = found ?? path
    // Not `real`: a pipe that a link of /proc leads to has no path.
    const facts = statIfThere('user_file.stat', path)
    // A device, such as /dev/null, would be gone, and a plain file in its place.
    if (facts !== undefined && facts.kind !== 'file') throw unwritableError(path, 'it is no plain file')
    replace('user_file', real, bytes, { durableName: false, like: facts ?? { mode } })
    return real
  } catch (error) {
    if (!(error instanceof SubstratError) || error.cause === undefined) throw error
    // Without the temporary file, which is nobody's business; one that could not be synced has never had the name.
    throw unwritableError(path, (error.cause as Error).message.replace(/, \w+( '.*')?$/, ''), error)
  }
}

function unwritableError(path: string, why: string, cause?: SubstratError): SubstratError {
  return new SubstratError('STORAGE_FAILED', `cannot write ${path}: ${why}`, {
    hint:
      cause === undefined
        ? 'name another file, then run the same command again'
        : 'check the space and the rights there, then run the same command again',
    facts: { path, errno: cause?.facts?.errno ?? null },
    cause,
  })
}

function syncName(path: string): void {
  try {
    io.syncDirectory('user_file.sync_directory', dirname(path))
  } catch (error) {
    // A directory that the user may write in and not read cannot be synced.
    if ((error as SubstratError).facts?.errno !== 'EACCES') throw error
  }
}

export function isThere(path: string): boolean {
  return statIfThere('user_file.stat', path) !== undefined
}

export function isPlainFile(path: string): boolean {
  return statIfThere('user_file.stat', path)?.kind === 'file'
}

export function isDirectory(path: string): boolean {
  return statIfThere('user_file.stat', path)?.kind === 'directory'
}
