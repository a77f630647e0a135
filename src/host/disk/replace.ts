/**
 * Replaces a whole file: write a temporary file beside it, fsync, rename. Readers see the old bytes or the new ones,
 * never a mixture. (The usual library renames a short write over the good file and reports success.)
 *
 * A crash before the rename leaves the old file and a temporary file, which recovery sweeps. A crash after the rename
 * leaves the new file.
 */
import { dirname } from 'node:path'
import { SubstratError } from '../../errors.js'
import { type Heritage, inherit } from './facts.js'
import * as io from './io.js'
import { temporaryName } from './temporary.js'

export interface ReplaceOptions {
  /**
   * Also fsync the directory, so that the new name survives a power cut. False for a file that can be rebuilt: the sync
   * slows each turn, and after a power cut the old file serves as well.
   */
  durableName: boolean
  /** False skips the fsync of the file. Its reader must then detect damage from a power cut. */
  isSynced?: boolean
  /** The mode and owner of the new file. Default: mode 0600, this process's user. */
  like?: Heritage
}

export function replace(point: string, path: string, bytes: Uint8Array, options: ReplaceOptions): void {
  unlessSwept(() => replaceOnce(point, path, bytes, options))
}

function replaceOnce(point: string, path: string, bytes: Uint8Array, options: ReplaceOptions): void {
  const temp = writeTemporary(point, path, bytes, options)
  try {
    io.rename(`${point}.rename`, temp, path)
  } catch (error) {
    discard(point, temp)
    throw error
  }
  if (options.durableName) io.syncDirectory(`${point}.sync_directory`, dirname(path))
}

/**
 * Creates a whole file or none: write a temporary file, fsync, link(2), fsync the directory. Returns false if the name
 * is taken. The directory is fsynced then too, because the caller will rely on a name that another process made
 * (durability rule 3).
 *
 * `beforeLink` runs between the fsync and the link. It runs again if the write is repeated with a new temporary file.
 */
export function createWhole(
  point: string,
  path: string,
  bytes: Uint8Array,
  beforeLink?: () => void,
): boolean {
  return unlessSwept(() => createOnce(point, path, bytes, beforeLink))
}

function createOnce(point: string, path: string, bytes: Uint8Array, beforeLink?: () => void): boolean {
  const temp = writeTemporary(point, path, bytes)
  let created: boolean
  try {
    beforeLink?.()
    created = io.link(`${point}.link`, temp, path)
  } finally {
    discard(point, temp)
  }
  io.syncDirectory(`${point}.sync_directory`, dirname(path))
  return created
}

const SWEEPS_MAX = 3

/**
 * Repeats the write if a sweep took the temporary file before its rename or link. A sweep in another pid namespace
 * cannot see that the writer lives, so it judges by age, and its clock may have stepped.
 */
function unlessSwept<T>(write: () => T): T {
  for (let sweeps = 0; ; sweeps++) {
    try {
      return write()
    } catch (error) {
      if (sweeps === SWEEPS_MAX || !isOfSweptTemp(error)) throw error
    }
  }
}

function isOfSweptTemp(error: unknown): boolean {
  const { errno, point } = error instanceof SubstratError ? error.facts : {}
  return errno === 'ENOENT' && /\.(rename|link)$/.test(String(point))
}

/** Writes a temporary file beside `path`, fsynced by default, and returns its path. Removes it again on failure. */
export function writeTemporary(
  point: string,
  path: string,
  bytes: Uint8Array,
  { like, isSynced = true }: Pick<ReplaceOptions, 'like' | 'isSynced'> = {},
): string {
  const temp = temporaryName(path)
  const file = io.open(`${point}.open`, temp, 'create_exclusive')
  try {
    io.writeAll(`${point}.write`, file, bytes, 0)
    if (like !== undefined) inherit(`${point}.inherit`, file, like)
    if (isSynced) io.fsync(`${point}.fsync`, file)
    return temp
  } catch (error) {
    discard(point, temp)
    throw error
  } finally {
    io.close(file)
  }
}

/** Never throws: a failed unlink must not hide the error that caused it, above all a failed sync. */
function discard(point: string, temp: string): void {
  try {
    io.unlink(`${point}.unlink`, temp)
  } catch {
    // Recovery sweeps it.
  }
}
