/** The processes that can be seen from here, and our own: what /proc says besides who they are. */

import { statIfThere } from './disk/facts.js'
import { listDirectory, readProc } from './disk/io.js'

/** Empty where there is no /proc. */
export function processIds(): number[] {
  return listDirectory('proc.list', '/proc').map(Number).filter(Number.isInteger)
}

/** The bytes that this process was started with. Undefined where there is no /proc. */
export function ownArguments(): Buffer | undefined {
  return readProc('/proc/self/cmdline')
}

/**
 * Whether the home that a process names is `ours`, also by a link, and mounted at another place. Undefined where that home is
 * not there.
 */
export function isHome(theirs: string, ours: string): boolean | undefined {
  const [named, own] = [theirs, ours].map((path) => statIfThere('proc.home', path))
  return named && named.device === own?.device && named.inode === own.inode
}
