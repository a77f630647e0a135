/** A directory tree in memory. Restoring it before each case is faster than copying it on disk. */
import { lstatSync, mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'

/** The bytes of each file; null for a directory. Leaves out the sockets of dead holders, which have no effect. */
type Entries = ReadonlyMap<string, Buffer | null>

export class Image {
  private constructor(readonly entries: Entries) {}

  static of(root: string): Image {
    return new Image(entriesBelow(root))
  }

  /** Touches only entries that changed. */
  restore(root: string): void {
    const now = entriesBelow(root)
    for (const [name, bytes] of now) {
      if (!this.entries.has(name) || (bytes === null) !== (this.entries.get(name) === null))
        rmSync(join(root, name), { recursive: true, force: true })
    }
    for (const [name, bytes] of this.entries) {
      const path = join(root, name)
      if (bytes === null) mkdirSync(path, { recursive: true, mode: 0o700 })
      else if (now.get(name)?.equals(bytes) !== true) writeFileSync(path, bytes, { mode: 0o600 })
    }
  }

  /** A copy in which one file has other bytes, or is missing. */
  with(name: string, bytes: Buffer | undefined): Image {
    const entries = new Map(this.entries)
    if (bytes === undefined) entries.delete(name)
    else entries.set(name, bytes)
    return new Image(entries)
  }

  /** The names of entries that differ, or exist in only one of the two. */
  differencesFrom(other: Image): string[] {
    const names = new Set([...this.entries.keys(), ...other.entries.keys()])
    return [...names].filter((name) => {
      const [a, b] = [this.entries.get(name), other.entries.get(name)]
      return a == null || b == null ? a !== b : !a.equals(b)
    })
  }
}

function entriesBelow(root: string): Map<string, Buffer | null> {
  const entries = new Map<string, Buffer | null>()
  const gather = (directory: string): void => {
    for (const entry of readdirSync(join(root, directory), { withFileTypes: true })) {
      const name = join(directory, entry.name)
      if (entry.isDirectory()) {
        entries.set(name, null)
        gather(name)
      } else if (entry.isFile()) entries.set(name, readFileSync(join(root, name)))
      else if (!lstatSync(join(root, name)).isFile()) rmSync(join(root, name))
    }
  }
  gather('')
  return entries
}
