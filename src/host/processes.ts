/** Facts from /proc about visible processes and this one. identity.ts has their identities. */

import { statIfThere } from './disk/facts.js'
import { listDirectory } from './disk/io.js'
import { readProc } from './disk/outside.js'

/** Empty without /proc. */
export function processIds(): number[] {
  return listDirectory('proc.list', '/proc').map(Number).filter(Number.isInteger)
}

/** This process's command line, NUL-separated. Undefined without /proc. */
export function ownArguments(): Buffer | undefined {
  return readProc('/proc/self/cmdline')
}

/**
 * Whether both paths are one directory, by device and inode: `theirs` may be a symlink or another mount point.
 * Undefined if `theirs` does not exist.
 */
export function isHome(theirs: string, ours: string): boolean | undefined {
  const [named, own] = [theirs, ours].map((path) => statIfThere('proc.home', path))
  return named && named.device === own?.device && named.inode === own.inode
}
