/** Files that go into a prompt: the user's, read as far as they can be, and silently left out where they cannot. */
import * as io from './io.js'

export interface TextFile {
  text: string
  /** Of the whole file, and how many of them were left out. */
  bytes: number
  cut: number
}

/** Undefined for what is not there, is no plain file (a FIFO would hang the command), or cannot be read. */
export function readTextFile(path: string, bytesMax: number): TextFile | undefined {
  try {
    const facts = io.statIfThere('prompt.stat', path)
    if (facts?.kind !== 'file') return undefined
    const read = io.readFollowingUpTo('prompt.read', path, Math.min(bytesMax, facts.sizeBytes))
    return { text: read.toString('utf8'), bytes: facts.sizeBytes, cut: facts.sizeBytes - read.length }
  } catch {
    return undefined
  }
}

export function pathIsThere(path: string): boolean {
  try {
    return io.statIfThere('prompt.stat', path) !== undefined
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
