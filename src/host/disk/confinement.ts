/**
 * Directories in which no symlink is followed: the target is not part of the home, so it is neither read nor changed.
 *
 * TOCTOU: a symlink that replaces a directory while the home is in use goes unnoticed, because Node has no openat(2).
 * Each opening of the home checks again.
 *
 * Invariant: a known directory is outside every confined one, or was checked since the home was opened. At that check,
 * neither it nor any directory between it and the confined one was a symlink.
 */
import { dirname } from 'node:path'
import { SubstratError } from '../../errors.js'

const KNOWN_MAX = 200_000

/** The real directories of a listing. */
interface Listed {
  /** The path of the listed directory, with a slash. */
  below: string
  names: string[]
  /** The index of the name that a visit in order comes to next. */
  next: number
}

export class Confinement {
  private readonly confined = new Set<string>()
  private readonly known = new Set<string>()
  /** A cache: most steps act on the same file, or in the same directory, as the step before. */
  private latest = { path: '', directory: '' }
  private listed: Listed | undefined

  /** `isLink` returns undefined for a missing path. */
  constructor(private readonly isLink: (path: string) => boolean | undefined) {}

  /** Confines these directories and everything below them. */
  add(directories: string[]): void {
    for (const directory of directories) this.confined.add(directory)
    this.known.clear()
    this.latest = { path: '', directory: '' }
    this.listed = undefined
  }

  /** Call before each step on that path. Checks its directory; the last component may be a symlink. */
  refuseLinksTo(path: string): void {
    const { latest } = this
    if (path === latest.path) return
    const directory = dirname(path)
    if (directory !== latest.directory && !this.refuseLinks(directory)) return
    latest.path = path
    latest.directory = directory
  }

  /** Throws HOME_EXPOSED if the directory is a symlink or below one. False if it does not exist. */
  refuseLinks(directory: string): boolean {
    return this.isListed(directory) || this.known.has(directory) || this.checkDirectory(directory)
  }

  /**
   * Records that these entries are real directories. Ignored unless `directory` itself was checked. Only the latest listing
   * is recorded, and saves a check for a caller that visits its entries in order.
   */
  learn(directory: string, names: string[]): void {
    if (this.known.has(directory)) this.listed = { below: `${directory}/`, names, next: 0 }
  }

  /** While the entries are visited in order, no set of their paths is made: hashing very many paths takes longer than a look. */
  private isListed(directory: string): boolean {
    const { listed } = this
    if (listed === undefined || directory.slice(0, listed.below.length) !== listed.below) return false
    if (directory.slice(listed.below.length) === listed.names[listed.next]) {
      listed.next += 1
      return true
    }
    this.listed = undefined
    for (const each of listed.names.slice(0, KNOWN_MAX - this.known.size))
      this.remember(`${listed.below}${each}`)
    return this.known.has(directory)
  }

  private checkDirectory(directory: string): boolean {
    for (const path of this.wayTo(directory)) {
      if (this.known.has(path)) continue
      const isLink = this.isLink(path)
      if (isLink === undefined) return false
      if (isLink) throw exposedError(path)
      this.remember(path)
    }
    this.remember(directory)
    return true
  }

  /** The directories from a confined one down to this one. Empty if this one is not confined. */
  private wayTo(directory: string): string[] {
    const below: string[] = []
    for (let at = directory; ; ) {
      below.unshift(at)
      if (this.confined.has(at)) return below
      const parent = dirname(at)
      if (at === parent) return []
      at = parent
    }
  }

  private remember(directory: string): void {
    if (this.known.size >= KNOWN_MAX) this.known.clear()
    this.known.add(directory)
  }
}

function exposedError(path: string): SubstratError {
  return new SubstratError(
    'HOME_EXPOSED',
    `${path} is a symbolic link: substrat reads and writes nothing through it`,
    {
      hint: 'find out who created the link, move it away, then check the home: substrat doctor',
      facts: { path },
    },
  )
}
