/**
 * Where no link is followed: what stands behind one is not ours, and is neither read nor changed. Node has no openat(2),
 * so one that takes a directory's place while the home is in use is not seen; each opening of the home looks anew.
 *
 * Invariant: of a known directory nothing on the way down to it from a confined one was a link when it was looked at,
 * since the last opening; or it is in no confined place.
 */
import { dirname } from 'node:path'
import { SubstratError } from '../../errors.js'

const KNOWN_MAX = 200_000

export class Confinement {
  private readonly confined = new Set<string>()
  private readonly known = new Set<string>()
  /** Most steps are on the file of the one before. */
  private latest = ''

  /** `isLink` says nothing where nothing is there. */
  constructor(private readonly isLink: (path: string) => boolean | undefined) {}

  /** From now on at and below these directories too. */
  add(directories: string[]): void {
    for (const directory of directories) this.confined.add(directory)
    this.known.clear()
    this.latest = ''
  }

  /** Before each step on what has that name; its own last part may be a link. */
  refuseLinksTo(path: string): void {
    if (path === this.latest) return
    if (this.refuseLinks(dirname(path))) this.latest = path
  }

  /** Throws HOME_EXPOSED where the directory is a link, or below one; false where it is not there. */
  refuseLinks(directory: string): boolean {
    return this.known.has(directory) || this.checkDirectory(directory)
  }

  /** A directory in it was seen to be none. Counts where it was looked at itself. */
  learn(directory: string, name: string): void {
    if (this.known.size < KNOWN_MAX && this.known.has(directory)) this.known.add(`${directory}/${name}`)
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

  /** From a confined directory down to this one; nothing where it is in no such place. */
  private wayTo(directory: string): string[] {
    const below: string[] = []
    for (let at = directory; ; at = dirname(at)) {
      below.unshift(at)
      if (this.confined.has(at)) return below
      if (at === dirname(at)) return []
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
    `${path} is a symbolic link: nothing behind it is read or written`,
    {
      hint: 'look who put it there, and move it away; what else is wrong: substrat doctor',
      facts: { path },
    },
  )
}
