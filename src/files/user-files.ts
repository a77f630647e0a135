/**
 * Files that the user names: settings, exports, scenarios. A replaced file keeps its mode and owner. A symlink stays,
 * and its target is replaced.
 *
 * A crash leaves the old file or the new one, and perhaps a temporary file beside it. A sweep removes that only in the
 * home.
 */
import { dirname } from 'node:path'
import { RUN_AGAIN, SubstratError } from '../errors.js'
import { isExecutableFile, lstatIfThere, realPathIfThere, statIfThere } from '../host/disk/facts.js'
import * as io from '../host/disk/io.js'
import { readFollowing, readStream } from '../host/disk/outside.js'
import { replace } from '../host/disk/replace.js'

/** UTF-8 text. Throws if it cannot be read. The caller adds what the file is for. */
export function readUserFile(path: string): string {
  return readFollowing('user_file.read', path).toString('utf8')
}

/** Also reads a pipe, to its end. Throws USAGE if the file is larger. */
export function readUserBytes(path: string, bytesMax: number): Buffer {
  const facts = statIfThere('user_file.stat', path)
  if (facts === undefined) throw notThereError(path, 'there is no file')
  if (facts.kind === 'directory') throw notThereError(path, 'a directory is not a file:')
  if (facts.sizeBytes > bytesMax) throw tooLargeError(path, bytesMax)
  if (facts.kind === 'file') return readFollowing('user_file.read', path)
  const bytes = readStream('user_file.read', path, bytesMax)
  if (bytes === undefined) throw tooLargeError(path, bytesMax)
  return bytes
}

function notThereError(path: string, why: string): SubstratError {
  return new SubstratError('USAGE', `${why} ${path}`, { hint: 'check the path', facts: { path } })
}

export function tooLargeError(what: string, bytesMax: number): SubstratError {
  return new SubstratError('USAGE', `${what} is larger than ${bytesMax} bytes`, { hint: 'name another file' })
}

/**
 * Durable on return. `mode` applies to a new file and follows the user's umask by default; an old file keeps its mode.
 */
export function writeUserFile(path: string, content: string | Buffer, mode = 0o666 & ~process.umask()): void {
  syncName(replaceAt(path, typeof content === 'string' ? Buffer.from(content) : content, mode))
}

/** Durable on return. Only the owner can read the file, also if it was there with another mode. */
export function writePrivateFile(path: string, bytes: Buffer): void {
  syncName(replaceAt(path, bytes, 0o600, true))
}

/** Returns the real path of the file. */
function replaceAt(path: string, bytes: Buffer, mode: number, isForced = false): string {
  try {
    const found = realPathIfThere('user_file.realpath', path)
    // Also /dev/stdout, if its target was removed.
    if (found === undefined && lstatIfThere('user_file.lstat', path)?.kind === 'link')
      throw unwritableError(path, 'it is a broken symbolic link')
    const real = found ?? path
    // Not `real`: a pipe behind a link in /proc has no path.
    const facts = statIfThere('user_file.stat', path)
    // A rename would replace a device such as /dev/null with a regular file.
    if (facts !== undefined && facts.kind !== 'file') throw unwritableError(path, 'it is not a regular file')
    replace('user_file', real, bytes, {
      durableName: false,
      like: isForced ? { ...facts, mode } : (facts ?? { mode }),
    })
    return real
  } catch (error) {
    if (!(error instanceof SubstratError) || error.cause === undefined) throw error
    // Leaves out the syscall and the temporary file's name. A failed sync is an ordinary write error here: the rename
    // has not happened, so the old file is intact.
    throw unwritableError(path, (error.cause as Error).message.replace(/, \w+( '.*')?$/, ''), error)
  }
}

function unwritableError(path: string, why: string, cause?: SubstratError): SubstratError {
  return new SubstratError('STORAGE_FAILED', `cannot write ${path}: ${why}`, {
    hint:
      cause === undefined
        ? `name another file, then ${RUN_AGAIN}`
        : `check the free space and the permissions there, then ${RUN_AGAIN}`,
    facts: { path, errno: cause?.facts?.errno ?? null },
    cause,
  })
}

function syncName(path: string): void {
  try {
    io.syncDirectory('user_file.sync_directory', dirname(path))
  } catch (error) {
    // Syncing a directory needs read permission. The user may have only write permission.
    if ((error as SubstratError).facts?.errno !== 'EACCES') throw error
  }
}

export function isThere(path: string): boolean {
  return statIfThere('user_file.stat', path) !== undefined
}

/** Also through a symlink. */
export function isSameFile(path: string, other: string): boolean {
  const [a, b] = [path, other].map((each) => statIfThere('user_file.stat', each))
  return a !== undefined && a.inode === b?.inode && a.device === b.device
}

/** The names in it. Empty if it does not exist. */
export function listDirectory(path: string): string[] {
  return io.listDirectory('user_file.list', path)
}

export function isPlainFile(path: string): boolean {
  return statIfThere('user_file.stat', path)?.kind === 'file'
}

/** Whether this user may run it. */
export function isProgram(path: string): boolean {
  return isExecutableFile(path)
}

export function isLink(path: string): boolean {
  return lstatIfThere('user_file.lstat', path)?.kind === 'link'
}

export function isDirectory(path: string): boolean {
  // No file has a NUL byte in its name, and Node refuses such a path in words of its own.
  return !path.includes('\0') && statIfThere('user_file.stat', path)?.kind === 'directory'
}
