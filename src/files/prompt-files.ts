/** User files that go into a prompt. An unreadable file is silently left out. */

import { realPath, realPathIfThere, statIfThere } from '../host/disk/facts.js'
import * as io from '../host/disk/io.js'
import { readFollowingUpTo } from '../host/disk/outside.js'
import { isInside } from './workspace.js'

export interface TextFile {
  text: string
  /** Size of the whole file. */
  bytes: number
  /** Bytes at its end that `text` leaves out. */
  cut: number
}

/**
 * Undefined if the file is missing, unreadable or not a regular file (a FIFO would hang the command). With `root`, also
 * if the real path is outside it: the author of a repository may have added a link to a secret.
 */
export function readTextFile(path: string, bytesMax: number, root?: string): TextFile | undefined {
  try {
    // Most files that a prompt may have are missing, and \`stat\` says so without an error.
    const facts = statIfThere('prompt.stat', path)
    if (facts?.kind !== 'file' || (root !== undefined && !isBelow(root, path))) return undefined
    const read = readFollowingUpTo('prompt.read', path, Math.min(bytesMax, facts.sizeBytes))
    return { text: read.toString('utf8'), bytes: facts.sizeBytes, cut: facts.sizeBytes - read.length }
  } catch {
    return undefined
  }
}

function isBelow(root: string, path: string): boolean {
  const real = realPathIfThere('prompt.realpath', path)
  return real !== undefined && isInside(realPath('prompt.realpath', root), real)
}

export function pathIsThere(path: string): boolean {
  try {
    return statIfThere('prompt.stat', path) !== undefined
  } catch {
    return false
  }
}

export function listFolders(path: string): string[] {
  // Most folders that a prompt may have are missing too.
  if (!pathIsThere(path)) return []
  try {
    return io.listDirectory('prompt.list', path).sort()
  } catch {
    return []
  }
}
