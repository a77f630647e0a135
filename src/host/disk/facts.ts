/** Facts about files: kind, size, times, owner, mode, and the target of a symlink. */
import * as fs from 'node:fs'
import { close, type OpenFile, open } from './io.js'
import { errnoOf, step, stepUnless } from './operation.js'

/** Changes the mode of an existing file or directory. Refuses a symlink. */
export function changeMode(point: string, path: string, mode: number): void {
  const file = open(point, path, 'read')
  try {
    step({ point, name: 'open', path }, () => fs.fchmodSync(file.fd, mode))
  } finally {
    close(file)
  }
}

/** Without an owner, the new file belongs to the user of this process. */
export type Heritage = Pick<FileFacts, 'mode'> & Partial<Pick<FileFacts, 'owner' | 'group'>>

/** Gives a replacement file the mode of the old file, and its owner and group if the kernel permits it. */
export function inherit(point: string, file: OpenFile, { mode, owner, group }: Heritage): void {
  step({ point, name: 'open', path: file.path }, () => {
    try {
      if (owner !== undefined && group !== undefined) fs.fchownSync(file.fd, owner, group)
    } catch (error) {
      if (errnoOf(error) !== 'EPERM') throw error
    }
    // After fchown, which clears the set-uid bits.
    fs.fchmodSync(file.fd, mode)
  })
}

export interface FileFacts {
  kind: 'file' | 'directory' | 'other'
  modifiedMs: number
  sizeBytes: number
  device: number
  inode: number
  owner: number
  group: number
  /** The permission bits only. */
  mode: number
}

export function statIfThere(point: string, path: string): FileFacts | undefined {
  return stepUnless('ENOENT', { point, name: 'read', path }, () => {
    // Throwing and catching an error costs as much as thirty calls of stat.
    const stat = fs.statSync(path, { throwIfNoEntry: false })
    return stat === undefined ? undefined : factsFrom(stat)
  })
}

/** Facts of the open file, even if its name now belongs to another file. */
export function factsOf(point: string, file: OpenFile): FileFacts {
  return step({ point, name: 'read', path: file.path }, () => factsFrom(fs.fstatSync(file.fd)))
}

/**
 * Compares an open file with the path by which it was opened. `same`: the path is still this file. `other`: the path is
 * another file. `none`: the file was unlinked. `unknown`: the path is missing but the file has a name elsewhere,
 * because a directory above it was renamed.
 */
export function nameOf(point: string, file: OpenFile): 'same' | 'other' | 'unknown' | 'none' {
  return step({ point, name: 'read', path: file.path }, () => {
    const named = fs.lstatSync(file.path, { throwIfNoEntry: false })
    const { ino, dev } = inodeOf(file)
    if (named?.ino === ino && named.dev === dev) return 'same'
    if (fs.fstatSync(file.fd).nlink === 0) return 'none'
    return named === undefined ? 'unknown' : 'other'
  })
}

/** Read once per descriptor: its inode never changes, and the kernel does not reuse the inode of an open file. */
const inodes = new WeakMap<OpenFile, { ino: number; dev: number }>()

function inodeOf(file: OpenFile): { ino: number; dev: number } {
  const known = inodes.get(file)
  if (known !== undefined) return known
  const { ino, dev } = fs.fstatSync(file.fd)
  inodes.set(file, { ino, dev })
  return { ino, dev }
}

function factsFrom(stat: fs.Stats): FileFacts {
  return {
    kind: stat.isFile() ? 'file' : stat.isDirectory() ? 'directory' : 'other',
    modifiedMs: stat.mtimeMs,
    sizeBytes: stat.size,
    device: stat.dev,
    inode: stat.ino,
    owner: stat.uid,
    group: stat.gid,
    mode: stat.mode & 0o7777,
  }
}

/** Facts of a directory entry. A symlink is not followed. */
export interface EntryFacts {
  kind: 'file' | 'directory' | 'link' | 'socket' | 'other'
  mode: number
  owner: number
  modifiedMs: number
}

export function lstatIfThere(point: string, path: string): EntryFacts | undefined {
  return stepUnless('ENOENT', { point, name: 'read', path }, () => {
    const stat = fs.lstatSync(path)
    return { kind: kindOf(stat), mode: stat.mode & 0o7777, owner: stat.uid, modifiedMs: stat.mtimeMs }
  })
}

function kindOf(stat: fs.Stats): EntryFacts['kind'] {
  if (stat.isFile()) return 'file'
  if (stat.isDirectory()) return 'directory'
  if (stat.isSymbolicLink()) return 'link'
  return stat.isSocket() ? 'socket' : 'other'
}

/** f_type of statfs(2): the kind of file system. */
export function fileSystemType(path: string): number {
  return step({ point: 'home.statfs', name: 'read', path }, () => fs.statfsSync(path).type)
}

export interface FreeSpace {
  bytes: number
  /** Undefined if the file system has no limit on their number. */
  inodes: number | undefined
}

/** The room that a file system still has for this user. */
export function freeSpace(path: string): FreeSpace {
  return step({ point: 'home.free', name: 'read', path }, () => {
    const { bavail, bsize, files, ffree } = fs.statfsSync(path)
    return { bytes: bavail * bsize, inodes: files === 0 ? undefined : ffree }
  })
}

/** Undefined if the file system does not tell. */
export function freeBytesIfKnown(path: string): number | undefined {
  try {
    return freeSpace(path).bytes
  } catch {
    return undefined
  }
}

/** False also for a path that cannot be checked. No durable state depends on it. */
export function isExecutableFile(path: string): boolean {
  try {
    fs.accessSync(path, fs.constants.X_OK)
    return fs.statSync(path).isFile()
  } catch {
    return false
  }
}

/** The path with every symlink resolved. */
export function realPath(point: string, path: string): string {
  return step({ point, name: 'read', path }, () => fs.realpathSync(path))
}

export function realPathIfThere(point: string, path: string): string | undefined {
  return stepUnless('ENOENT', { point, name: 'read', path }, () => fs.realpathSync(path))
}

export function readLinkIfThere(path: string): string | undefined {
  try {
    return fs.readlinkSync(path)
  } catch {
    return undefined
  }
}
