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
    const bytes = io.readFollowing('prompt.read', path)
    return {
      text: bytes.subarray(0, bytesMax).toString('utf8'),
      bytes: bytes.length,
      cut: Math.max(0, bytes.length - bytesMax),
    }
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
