/** What is known of a file or a name: its kind, size, times, owner and mode, and where a link leads. */
import * as fs from 'node:fs'
import { close, type OpenFile, open } from './io.js'
import { errnoOf, step, unless } from './operation.js'

/** The mode of a file or directory that is there, never of what a link leads to. */
export function changeMode(point: string, path: string, mode: number): void {
  const file = open(point, path, 'read')
  try {
    step({ point, name: 'open', path }, () => fs.fchmodSync(file.fd, mode))
  } finally {
    close(file)
  }
}

/** Without an owner it is of whoever makes it. */
export type Heritage = Pick<FileFacts, 'mode'> & Partial<Pick<FileFacts, 'owner' | 'group'>>

/** A new file in the place of an old one: its mode, and its owner and group where we may give them away. */
export function inherit(point: string, file: OpenFile, { mode, owner, group }: Heritage): void {
  step({ point, name: 'open', path: file.path }, () => {
    try {
      if (owner !== undefined && group !== undefined) fs.fchownSync(file.fd, owner, group)
    } catch (error) {
      if (errnoOf(error) !== 'EPERM') throw error
    }
    // Last: a change of owner takes the set-uid bits away.
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
  /** The permissions alone. */
  mode: number
}

export function statIfThere(point: string, path: string): FileFacts | undefined {
  return unless('ENOENT', () =>
    step({ point, name: 'read', path }, () => {
      // An error that is only caught again costs as much as thirty looks.
      const stat = fs.statSync(path, { throwIfNoEntry: false })
      return stat === undefined ? undefined : factsFrom(stat)
    }),
  )
}

/** Of what is open, whatever has its name now. */
export function factsOf(point: string, file: OpenFile): FileFacts {
  return step({ point, name: 'read', path: file.path }, () => factsFrom(fs.fstatSync(file.fd)))
}

/**
 * Whether the name that the file was opened by still leads to it. `unknown`: the name leads nowhere, and the file has a
 * name elsewhere: a directory above it was renamed.
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

/** Looked up once: a descriptor keeps its inode, and an inode that is open is not given to another file. */
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

/** What stands under a name itself: a link is not followed. */
export interface EntryFacts {
  kind: 'file' | 'directory' | 'link' | 'socket' | 'other'
  mode: number
  owner: number
  modifiedMs: number
}

export function lstatIfThere(point: string, path: string): EntryFacts | undefined {
  return unless('ENOENT', () =>
    step({ point, name: 'read', path }, () => {
      const stat = fs.lstatSync(path)
      return { kind: kindOf(stat), mode: stat.mode & 0o7777, owner: stat.uid, modifiedMs: stat.mtimeMs }
    }),
  )
}

function kindOf(stat: fs.Stats): EntryFacts['kind'] {
  if (stat.isFile()) return 'file'
  if (stat.isDirectory()) return 'directory'
  if (stat.isSymbolicLink()) return 'link'
  return stat.isSocket() ? 'socket' : 'other'
}

/** The f_type of statfs(2): which kind of file system the path is on. */
export function fileSystemType(path: string): number {
  return step({ point: 'home.statfs', name: 'read', path }, () => fs.statfsSync(path).type)
}

/** With every link resolved. */
export function realPath(point: string, path: string): string {
  return step({ point, name: 'read', path }, () => fs.realpathSync(path))
}

export function realPathIfThere(point: string, path: string): string | undefined {
  return unless('ENOENT', () => realPath(point, path))
}

export function readLinkIfThere(path: string): string | undefined {
  try {
    return fs.readlinkSync(path)
  } catch {
    return undefined
  }
}
