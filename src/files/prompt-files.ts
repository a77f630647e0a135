/** Files that go into a prompt: the user's, read as far as they can be, and silently left out where they cannot. */

import { realPath, realPathIfThere, statIfThere } from '../host/disk/facts.js'
import * as io from '../host/disk/io.js'
import { isInside } from './workspace.js'

export interface TextFile {
  text: string
  /** Of the whole file, and how many of them were left out. */
  bytes: number
  cut: number
}

/**
 * Undefined for what is not there, is no plain file (a FIFO would hang the command), or cannot be read. And, where it comes
 * with a workspace, for what is outside `root`: whoever made the repository may have put a link there to a secret.
 */
export function readTextFile(path: string, bytesMax: number, root?: string): TextFile | undefined {
  try {
    if (root !== undefined && !isBelow(root, path)) return undefined
    const facts = statIfThere('prompt.stat', path)
    if (facts?.kind !== 'file') return undefined
    const read = io.readFollowingUpTo('prompt.read', path, Math.min(bytesMax, facts.sizeBytes))
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
  try {
    return io.listDirectory('prompt.list', path).sort()
  } catch {
    return []
  }
}
