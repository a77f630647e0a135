/** Checks that no other user could have written code that a command is about to run. */
import { lstatSync, realpathSync, type Stats } from 'node:fs'
import { basename, dirname, join } from 'node:path'

/**
 * The reasons not to trust the files, as one sentence. Undefined if they can be trusted or do not exist.
 *
 * Each file and each directory above it must belong to this user or to root, and no other user may write to it. The owner
 * of `/` counts as root: in a sandbox with a user namespace, root has another number. A sticky
 * directory is accepted: other users cannot replace our entries there. `isOwn`: the file must belong to this user and must not
 * be a symlink.
 */
export function whyUntrusted(files: string[], { isOwn = false } = {}): string | undefined {
  const self = process.geteuid?.()
  if (self === undefined) return undefined
  const foreign = new Map<number, string[]>()
  const links: string[] = []
  const writable: string[] = []
  const ways = new Ways()
  for (const file of files) {
    ways.add(file)
    ways.add(ways.realPath(file))
  }
  const root = ways.found.get('/')?.uid ?? 0
  for (const [at, stat] of ways.found) {
    if (stat === undefined) continue
    const isOwnFile = isOwn && files.includes(at)
    const isOurs = stat.uid === self || ((stat.uid === 0 || stat.uid === root) && !isOwnFile)
    if (!isOurs) foreign.set(stat.uid, [...(foreign.get(stat.uid) ?? []), at])
    else if (stat.isSymbolicLink()) {
      if (isOwnFile) links.push(at)
    } else if (isOpenToOthers(stat, self)) writable.push(at)
  }
  const wrong = [...foreign].map(
    ([uid, paths]) =>
      `${joinedList(paths, 'belongs', 'belong')} to user ${uid}, but the command runs as user ${self}`,
  )
  if (links.length > 0) wrong.push(joinedList(links, 'is a symbolic link', 'are symbolic links'))
  if (writable.length > 0) wrong.push(`other users can write to ${writable.join(', ')} (chmod go-w)`)
  return wrong.length === 0 ? undefined : wrong.join('; ')
}

function isOpenToOthers(stat: Stats, self: number): boolean {
  const { uid, gid, mode } = stat
  if (stat.isDirectory() && (mode & 0o1000) !== 0) return false
  // Debian gives each user a private group, with umask 002. Write access for that group gives no other user access.
  const isPrivate = uid === self && gid === self && process.getegid?.() === self && self !== 0
  return (mode & (isPrivate ? 0o002 : 0o022)) !== 0
}

function joinedList(paths: string[], one: string, several: string): string {
  return `${paths.join(', ')} ${paths.length === 1 ? one : several}`
}

/** The files and all directories above them. Looks at each path once: the files of plugins share most directories. */
class Ways {
  readonly found = new Map<string, Stats | undefined>()
  private readonly realPaths = new Map<string, string>()

  add(file: string): void {
    for (let at = file; !this.found.has(at); at = dirname(at))
      this.found.set(at, lstatSync(at, { throwIfNoEntry: false }))
  }

  /** `file` must have been added. */
  realPath(file: string): string {
    const known = this.realPaths.get(file)
    if (known !== undefined) return known
    const parent = dirname(file)
    let real = file
    if (this.found.get(file)?.isSymbolicLink() === true) real = targetOf(file)
    else if (parent !== file) {
      const realParent = this.realPath(parent)
      if (realParent !== parent) real = join(realParent, basename(file))
    }
    this.realPaths.set(file, real)
    return real
  }
}

function targetOf(link: string): string {
  try {
    return realpathSync.native(link)
  } catch {
    return link
  }
}
