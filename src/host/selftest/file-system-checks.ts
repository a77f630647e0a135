/** The file system of a directory as the kernel describes it: its kind, its mount and its free space. */
import type { SelftestCheck } from '../../schema/output-home.js'
import { type FreeSpace, freeSpace, realPath } from '../disk/facts.js'
import { readProc } from '../disk/outside.js'
import { type FileSystemKind, fileSystemKind } from '../file-system.js'
import { cannotTell, check, doesNotHold, type Found, holds, LOCAL_HOME } from './check.js'

const FREE_BYTES_MIN = 64 * 1024 * 1024
const FREE_INODES_MIN = 1000

/** With one of these, a sync does not reach the disk. */
const WITHOUT_SYNC = /^(volatile|nobarrier|barrier=0|barrier=none|fsync=volatile)$/
/** With one of these, a lock does not reach the other hosts. */
const WITHOUT_LOCKS = /^(nolock|local_lock=(all|flock|posix)|nobrl)$/

export interface Mount {
  /** As the mount names it, such as `fuse.sshfs`. */
  type: string
  options: string[]
}

export async function fileSystemChecks(directory: string): Promise<SelftestCheck[]> {
  const kind = fileSystemKind(directory)
  const mount = mountOf(realPath('selftest.stat', directory), readProc('/proc/self/mountinfo')?.toString())
  return [
    await check('the file system has passed power cuts', () => powerCuts(kind, mount)),
    await check('no mount option turns syncs off', () => options(mount)),
    await check('space and inodes are free', () => free(freeSpace(directory))),
  ]
}

export function powerCuts({ name, isLocal, powerCut }: FileSystemKind, mount: Mount | undefined): Found {
  const full = mount === undefined || mount.type === name ? name : `${name} (${mount.type})`
  if (powerCut === 'survives') return holds(full)
  if (powerCut === 'loses')
    return doesNotHold(`${full} is in memory: it survives kills, but no restart of the machine`, LOCAL_HOME)
  if (isLocal) return cannotTell(`${full} is local, but no power cut on it has been tested`)
  return cannotTell(
    `${full} is not local: its server decides what a sync and a lock mean, and a killed command leaves its lock`,
    LOCAL_HOME,
  )
}

export function options(mount: Mount | undefined): Found {
  if (mount === undefined) return cannotTell('this system has no /proc/self/mountinfo')
  const sync = mount.options.find((option) => WITHOUT_SYNC.test(option))
  if (sync !== undefined)
    return doesNotHold(`it is mounted with ${sync}`, `mount it without ${sync}, or ${LOCAL_HOME}`)
  const lock = mount.options.find((option) => WITHOUT_LOCKS.test(option))
  if (lock !== undefined)
    return doesNotHold(
      `it is mounted with ${lock}: two hosts could hold one agent`,
      `mount it without ${lock}, or ${LOCAL_HOME}`,
    )
  return holds(mount.options.join(','))
}

export function free({ bytes, inodes }: FreeSpace): Found {
  const words = `${Math.floor(bytes / 1024 / 1024)} MiB${inodes === undefined ? '' : ` and ${inodes} inodes`} free`
  const isEnough = bytes >= FREE_BYTES_MIN && (inodes === undefined || inodes >= FREE_INODES_MIN)
  return isEnough ? holds(words) : doesNotHold(words, 'free some space on that file system')
}

/** The mount of a path without symlinks. Of several on one directory, the last one is on top. */
export function mountOf(path: string, mountinfo: string | undefined): Mount | undefined {
  let found: (Mount & { point: string }) | undefined
  for (const line of mountinfo?.split('\n') ?? []) {
    const [before = '', after = ''] = line.split(' - ')
    const [, , , , escaped, own = ''] = before.split(' ')
    const [type, , ofAll = ''] = after.split(' ')
    if (escaped === undefined || type === undefined) continue
    const point = escaped.replace(/\\([0-7]{3})/g, (_, code: string) =>
      String.fromCharCode(Number.parseInt(code, 8)),
    )
    const isAbove = point === '/' || path === point || path.startsWith(`${point}/`)
    if (isAbove && point.length >= (found?.point.length ?? 0))
      found = {
        point,
        type,
        options: [...new Set([...own.split(','), ...ofAll.split(',')])].filter((each) => each !== ''),
      }
  }
  return found && { type: found.type, options: found.options }
}
