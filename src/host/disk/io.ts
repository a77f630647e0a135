/**
 * The steps that touch files and directories. Only src/host/disk imports node:fs, besides src/start, which touches no
 * home.
 *
 * Invariants:
 * - A failed write or sync throws; it is never a return value.
 * - A failed sync is SYNC_FAILED and is never retried: the kernel marks the pages clean, so a second fsync may succeed
 *   although the data is lost.
 * - Files are created with mode 0600, directories with 0700.
 */
import * as fs from 'node:fs'
import * as descriptors from '../../start/close-file.js'
import {
  confinement,
  failure,
  isDoneUnless,
  type OpenMode,
  type Operation,
  step,
  stepUnless,
} from './operation.js'

/** An open file, with the path by which it was opened for messages and the fault hook. */
export interface OpenFile {
  readonly fd: number
  readonly path: string
}

// O_NOFOLLOW refuses a symlink planted in the home. O_NONBLOCK keeps a FIFO planted there from hanging a command.
const { O_RDONLY, O_WRONLY, O_RDWR, O_CREAT, O_EXCL, O_APPEND, O_DIRECTORY, O_NOFOLLOW, O_NONBLOCK } =
  fs.constants

const OPEN_FLAGS: Record<OpenMode, number> = {
  read: O_RDONLY | O_NOFOLLOW | O_NONBLOCK,
  write: O_RDWR | O_NOFOLLOW,
  create: O_RDWR | O_CREAT | O_NOFOLLOW,
  create_exclusive: O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW,
  append: O_WRONLY | O_CREAT | O_APPEND | O_NOFOLLOW,
}

export function open(point: string, path: string, mode: OpenMode): OpenFile {
  return step({ point, name: 'open', path, mode }, () => openAs(path, mode))
}

function openAs(path: string, mode: OpenMode): OpenFile {
  const flags = OPEN_FLAGS[mode]
  const openIt = (): number => fs.openSync(path, flags, 0o600)
  return { fd: (flags & O_CREAT) === 0 ? openIt() : forOwner(openIt), path }
}

let umask: number | undefined

/**
 * Gives the owner full rights from creation, under any umask: with 277 or 777 the home would be unusable. The umask is
 * restored, because it still applies to programs, tools and files made for the user.
 */
function forOwner<T>(make: () => T): T {
  // Read once: Node reads the umask by briefly setting it to 0, and another thread could create a file at that moment.
  umask ??= process.umask()
  if ((umask & 0o700) === 0) return make()
  process.umask(umask & 0o077)
  try {
    return make()
  } finally {
    process.umask(umask)
  }
}

export function openIfThere(point: string, path: string, mode: 'read' | 'write'): OpenFile | undefined {
  return stepUnless('ENOENT', { point, name: 'open', path, mode }, () => openAs(path, mode))
}

/** Undefined if the name is taken. */
export function createExclusive(point: string, path: string): OpenFile | undefined {
  const mode = 'create_exclusive'
  return stepUnless('EEXIST', { point, name: 'open', path, mode }, () => openAs(path, mode))
}

/** A failed close does not fail the command (see `closeFile`). */
export function close(file: OpenFile): void {
  descriptors.closeFile(file.fd)
}

export function sizeOf(file: OpenFile): number {
  return step({ point: 'file.stat', name: 'read', path: file.path }, () => fs.fstatSync(file.fd).size)
}

/** It differs for a copy of the file. */
export function inodeOf(file: OpenFile): number {
  return step({ point: 'file.stat', name: 'read', path: file.path }, () => fs.fstatSync(file.fd).ino)
}

/** The bytes `[from, to)`, fewer if the file ends before `to`. */
export function readRange(point: string, file: OpenFile, from: number, to: number): Buffer {
  return step({ point, name: 'read', path: file.path }, () => {
    const buffer = Buffer.allocUnsafe(Math.max(0, to - from))
    let filled = 0
    while (filled < buffer.length) {
      const count = fs.readSync(file.fd, buffer, filled, buffer.length - filled, from + filled)
      if (count === 0) break
      filled += count
    }
    return buffer.subarray(0, filled)
  })
}

/** Fills the buffer from that position on as far as the file goes, or less. Returns the number of bytes: 0 at the end of the file. */
export function readPart(point: string, file: OpenFile, buffer: Buffer, position: number): number {
  return step({ point, name: 'read', path: file.path }, () =>
    fs.readSync(file.fd, buffer, 0, buffer.length, position),
  )
}

export function readIfThere(point: string, path: string): Buffer | undefined {
  const file = openIfThere(point, path, 'read')
  if (file === undefined) return undefined
  try {
    return readRange(point, file, 0, sizeOf(file))
  } finally {
    close(file)
  }
}

/** Reads from `from` into `buffer` and returns the number of bytes. Undefined if the file does not exist. */
export function readInto(point: string, path: string, from: number, buffer: Buffer): number | undefined {
  const file = openIfThere(point, path, 'read')
  if (file === undefined) return undefined
  try {
    return step({ point, name: 'read', path }, () => fs.readSync(file.fd, buffer, 0, buffer.length, from))
  } finally {
    close(file)
  }
}

/** Writes all of `bytes` at `offset`. Continues after a short write; throws once a write takes no byte. */
export function writeAll(point: string, file: OpenFile, bytes: Uint8Array, offset: number): void {
  let written = 0
  while (written < bytes.length) {
    const rest = written === 0 ? bytes : bytes.subarray(written)
    const operation: Operation = {
      point,
      name: 'write',
      path: file.path,
      offset: offset + written,
      bytes: rest,
    }
    const count = step(operation, (lengthMax) =>
      fs.writeSync(file.fd, rest, 0, Math.min(rest.length, lengthMax), offset + written),
    )
    if (count === 0)
      throw failure(operation, Object.assign(new Error('nothing was written'), { code: 'ENOSPC' }))
    written += count
  }
}

export function truncate(point: string, file: OpenFile, size: number): void {
  step({ point, name: 'truncate', path: file.path, offset: size }, () => fs.ftruncateSync(file.fd, size))
}

export function fdatasync(point: string, file: OpenFile): void {
  step({ point, name: 'fdatasync', path: file.path }, () => fs.fdatasyncSync(file.fd))
}

export function fsync(point: string, file: OpenFile): void {
  step({ point, name: 'fsync', path: file.path }, () => fs.fsyncSync(file.fd))
}

export function syncDirectory(point: string, path: string): void {
  step({ point, name: 'sync_directory', path }, () => {
    const fd = fs.openSync(path, O_RDONLY | O_DIRECTORY)
    try {
      fs.fsyncSync(fd)
    } finally {
      descriptors.closeFile(fd)
    }
  })
}

export function rename(point: string, path: string, to: string): void {
  step({ point, name: 'rename', path, to }, () => fs.renameSync(path, to))
}

/** False if `path` does not exist. */
export function renameIfThere(point: string, path: string, to: string): boolean {
  return isDoneUnless('ENOENT', { point, name: 'rename', path, to }, () => fs.renameSync(path, to))
}

/** False if the new name is taken. */
export function link(point: string, path: string, to: string): boolean {
  return isDoneUnless('EEXIST', { point, name: 'link', path, to }, () => fs.linkSync(path, to))
}

/** False if the file does not exist. */
export function unlink(point: string, path: string): boolean {
  return isDoneUnless('ENOENT', { point, name: 'unlink', path }, () => fs.unlinkSync(path))
}

/** False if it exists already. */
export function mkdir(point: string, path: string): boolean {
  return isDoneUnless('EEXIST', { point, name: 'mkdir', path }, () => {
    // Most directories are there, and a look costs much less than the error.
    if (fs.lstatSync(path, { throwIfNoEntry: false }) !== undefined) return false
    return forOwner(() => fs.mkdirSync(path, 0o700))
  })
}

/** The `node:fs` of proper-lockfile, which makes directories without a mode. Those of the home are for its owner alone. */
export const ownerOnlyFs: object = Object.create(fs, {
  mkdir: { value: (path: string, done: fs.NoParamCallback) => fs.mkdir(path, 0o700, done) },
})

/** Makes a directory above the home, with the usual mode because it is not part of the home. */
export function mkdirAbove(point: string, path: string): void {
  isDoneUnless('EEXIST', { point, name: 'mkdir', path }, () => forOwner(() => fs.mkdirSync(path)))
}

/** Creates the file if it is missing, and sets its modification time. */
export function touch(point: string, path: string, time = new Date()): void {
  const file = open(point, path, 'create')
  try {
    step({ point, name: 'write', path }, () => fs.futimesSync(file.fd, time, time))
  } finally {
    close(file)
  }
}

/** Removes a directory with its content. */
export function removeTree(point: string, path: string): void {
  step({ point, name: 'rmdir', path }, () => fs.rmSync(path, { recursive: true, force: true }))
}

/** Empty if the directory does not exist. */
export function listDirectory(point: string, path: string): string[] {
  // Making the error of a missing directory takes as long as thirty looks.
  const list = (): string[] => (confinement.refuseLinks(path) ? fs.readdirSync(path) : [])
  return stepUnless('ENOENT', { point, name: 'read', path }, list) ?? []
}

/**
 * Like listDirectory, and records which entries are real directories, so that each need not be checked for a symlink.
 */
export function listDirectories(point: string, path: string): string[] {
  const list = (): string[] => {
    confinement.refuseLinks(path)
    const entries = fs.readdirSync(path, { withFileTypes: true })
    const directories = entries.filter((entry) => entry.isDirectory()).map(({ name }) => name)
    confinement.learn(path, directories)
    return directories.length === entries.length ? directories : entries.map(({ name }) => name)
  }
  return stepUnless('ENOENT', { point, name: 'read', path }, list) ?? []
}
