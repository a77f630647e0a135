/**
 * Replaces a whole file: write beside it, sync, rename. Readers see the old bytes or the new ones, never a mixture.
 * (The usual library for it renames a short write over the good file and reports success.)
 *
 * What is on disk if we die: before the rename the old file and a temp, which recovery sweeps; after it the new file.
 */
import { dirname } from 'node:path'
import { SubstratError } from '../../errors.js'
import { type Heritage, inherit } from './facts.js'
import * as io from './io.js'
import { temporaryName } from './temporary.js'

export interface ReplaceOptions {
  /**
   * Sync the directory too, so that the new name survives a power cut. Not for what can be rebuilt: a barrier costs a
   * turn time, and the old file is as good.
   */
  durableName: boolean
  /** False for what is not synced at all: whoever reads it must find out whether a power cut has spoilt it. */
  isSynced?: boolean
  /** Whose mode and owner the new file has; by default it is for its owner alone. */
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
 * A new file with all its bytes, or none: temp, sync, link(2), sync of the directory. False where the name is taken; the
 * directory is synced then too, because we are about to rely on a name that another process made (durability rule 3).
 * `beforeLink` is called while the temp is there, synced, and the name is not; again for another temp.
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
 * Once more where the temp was gone before it got its name: a sweep in another pid namespace, which cannot see that its
 * writer lives, judges by age, and its clock may have stepped.
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

/** The name of a temp beside `path`, synced unless that is not asked for; nothing is left where that failed. */
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

/** A temp that cannot be unlinked is swept later. It must not hide the error that is on its way, above all a failed sync. */
function discard(point: string, temp: string): void {
  try {
    io.unlink(`${point}.unlink`, temp)
  } catch {
    // Swept by recovery.
  }
}
