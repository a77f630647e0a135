/** Checks that no other user could have written code that a command is about to run. */
import { lstatSync, realpathSync, type Stats } from 'node:fs'
import { basename, dirname, join } from 'node:path'

/** A file or directory that another user could have written, or could replace. */
export interface Untrusted {
  path: string
  /** Its user id. */
  owner: number
  cause: 'owner' | 'link' | 'writable'
}

/** The reasons not to trust the files, as one sentence. Undefined if they can be trusted or do not exist. */
export function whyUntrusted(files: string[], { isOwn = false } = {}): string | undefined {
  return reasonsOf(untrustedAmong(files, { isOwn }), ' (chmod go-w)')
}

/**
 * Each file and each directory above it must belong to this user or to root, and no other user may write to it. The owner
 * of `/` counts as root: in a sandbox with a user namespace, root has another number. A sticky
 * directory is accepted: other users cannot replace our entries there. `isOwn`: the file must belong to this user and must not
 * be a symlink.
 */
export function untrustedAmong(files: string[], { isOwn = false } = {}): Untrusted[] {
  const ways = new Ways()
  if (process.geteuid !== undefined)
    for (const file of files) {
      ways.add(file)
      ways.add(ways.realPath(file))
    }
  return [...ways.found].flatMap(([at, stat]) => untrusted(at, stat, isOwn && files.includes(at)) ?? [])
}

/** The same of these files alone, for a caller that has checked the directory above them. */
export function untrustedEntries(paths: string[]): Untrusted[] {
  return paths.flatMap((path) => untrusted(path, lstatSync(path, { throwIfNoEntry: false })) ?? [])
}

/** One sentence. Undefined if there is none. `remedy`: words after the files that others can write to. */
export function reasonsOf(found: Untrusted[], remedy = ''): string | undefined {
  const named = (cause: Untrusted['cause']) => found.filter((each) => each.cause === cause)
  const foreign = named('owner')
  const wrong = [...new Set(foreign.map(({ owner }) => owner))].map((owner) => {
    const theirs = foreign.filter((each) => each.owner === owner)
    return `${joinedList(theirs, 'belongs', 'belong')} to user ${owner}, but the command runs as user ${process.geteuid?.()}`
  })
  const links = named('link')
  if (links.length > 0) wrong.push(joinedList(links, 'is a symbolic link', 'are symbolic links'))
  const writable = named('writable').map(({ path }) => path)
  if (writable.length > 0) wrong.push(`other users can write to ${writable.join(', ')}${remedy}`)
  return wrong.length === 0 ? undefined : wrong.join('; ')
}

/** Whether a regular file with this owner and mode is trusted, for a caller that has checked the directory above it. */
export function isTrustedFile(file: Owned): boolean {
  const self = process.geteuid?.()
  return self === undefined || (isOurs(file.uid, self) && !isOpenToOthers(file, self))
}

type Owned = Pick<Stats, 'uid' | 'gid' | 'mode'>

function untrusted(path: string, stat: Stats | undefined, isOwnFile = false): Untrusted | undefined {
  const self = process.geteuid?.()
  if (self === undefined || stat === undefined) return undefined
  const found = (cause: Untrusted['cause']): Untrusted => ({ path, owner: stat.uid, cause })
  if (isOwnFile ? stat.uid !== self : !isOurs(stat.uid, self)) return found('owner')
  if (stat.isSymbolicLink()) return isOwnFile ? found('link') : undefined
  const isSticky = stat.isDirectory() && (stat.mode & 0o1000) !== 0
  return !isSticky && isOpenToOthers(stat, self) ? found('writable') : undefined
}

let rootOwner: number | undefined

function isOurs(uid: number, self: number): boolean {
  if (uid === self || uid === 0) return true
  rootOwner ??= lstatSync('/').uid
  return uid === rootOwner
}

function isOpenToOthers({ uid, gid, mode }: Owned, self: number): boolean {
  // Debian gives each user a private group, with umask 002. Write access for that group gives no other user access.
  const isPrivate = uid === self && gid === self && process.getegid?.() === self && self !== 0
  return (mode & (isPrivate ? 0o002 : 0o022)) !== 0
}

function joinedList(files: Untrusted[], one: string, several: string): string {
  return `${files.map(({ path }) => path).join(', ')} ${files.length === 1 ? one : several}`
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
