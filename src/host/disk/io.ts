/**
 * The steps that touch the disk: files and directories. Only the files of src/host/disk import node:fs, besides src/start, which
 * touches no home.
 *
 * Invariants: a failed write or sync is an error, never a return value. A failed sync is SYNC_FAILED and is never
 * tried again (the kernel marks the pages clean, a second fsync may succeed with the data lost). Files are made 0600,
 * directories 0700.
 */
import * as fs from 'node:fs'
import {
  confinement,
  failure,
  isDoneUnless,
  type OpenMode,
  type Operation,
  step,
  unless,
} from './operation.js'

/** An open file and the name it was opened by, for messages and for the fault hook. */
export interface OpenFile {
  readonly fd: number
  readonly path: string
}

// O_NOFOLLOW: a link planted in the home is refused. O_NONBLOCK: a FIFO planted there does not hang a command.
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
  const openAs = (): number => fs.openSync(path, OPEN_FLAGS[mode], 0o600)
  return step({ point, name: 'open', path, mode }, () => ({
    fd: (OPEN_FLAGS[mode] & O_CREAT) === 0 ? openAs() : forOwner(openAs),
    path,
  }))
}

let umask: number | undefined

/**
 * What is made may be used by its owner from creation, whatever the umask: 277 or 777 would make a home that nobody can
 * use. The umask stays the user's own for programs, tools and files that we make for the user.
 */
function forOwner<T>(make: () => T): T {
  // Read once: Node reads it by setting it to 0 for a moment, in which another thread could make a file.
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
  return unless('ENOENT', () => open(point, path, mode))
}

/** False where the name is taken. */
export function createExclusive(point: string, path: string): OpenFile | undefined {
  return unless('EEXIST', () => open(point, path, 'create_exclusive'))
}

export function close(file: OpenFile): void {
  fs.closeSync(file.fd)
}

export function sizeOf(file: OpenFile): number {
  return step({ point: 'file.stat', name: 'read', path: file.path }, () => fs.fstatSync(file.fd).size)
}

/** `[from, to)` of the file; shorter where the file ends before `to`. */
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

export function readIfThere(point: string, path: string): Buffer | undefined {
  const file = openIfThere(point, path, 'read')
  if (file === undefined) return undefined
  try {
    return readRange(point, file, 0, sizeOf(file))
  } finally {
    close(file)
  }
}

/** Fills as much of `buffer` as the file has behind `from`; says how much. Undefined where there is no such file. */
export function readInto(point: string, path: string, from: number, buffer: Buffer): number | undefined {
  const file = openIfThere(point, path, 'read')
  if (file === undefined) return undefined
  try {
    return step({ point, name: 'read', path }, () => fs.readSync(file.fd, buffer, 0, buffer.length, from))
  } finally {
    close(file)
  }
}

/** A file of the user's, through whatever links lead to it. */
export function readFollowing(point: string, path: string): Buffer {
  return step({ point, name: 'read', path }, () => fs.readFileSync(path))
}

/** Its beginning, where it may be of any size. */
export function readFollowingUpTo(point: string, path: string, bytesMax: number): Buffer {
  const file = step({ point, name: 'open', path }, () => ({
    fd: fs.openSync(path, O_RDONLY | O_NONBLOCK),
    path,
  }))
  try {
    return readRange(point, file, 0, bytesMax)
  } finally {
    close(file)
  }
}

/** Writes all of `bytes` at `offset`; a short write is continued, and is an error when nothing more goes in. */
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

/** All of `bytes`, behind what stdout or stderr has already. It is no file of the home, and its error is the kernel's own. */
export function writeStream(fd: number, bytes: Uint8Array): void {
  for (let written = 0; written < bytes.length; ) written += fs.writeSync(fd, bytes, written)
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
      fs.closeSync(fd)
    }
  })
}

export function rename(point: string, path: string, to: string): void {
  step({ point, name: 'rename', path, to }, () => fs.renameSync(path, to))
}

/** False where there was nothing to rename. */
export function renameIfThere(point: string, path: string, to: string): boolean {
  return isDoneUnless('ENOENT', () => rename(point, path, to))
}

/** False where the new name is taken. */
export function link(point: string, path: string, to: string): boolean {
  return isDoneUnless('EEXIST', () => step({ point, name: 'link', path, to }, () => fs.linkSync(path, to)))
}

/** False where there was nothing to unlink. */
export function unlink(point: string, path: string): boolean {
  return isDoneUnless('ENOENT', () => step({ point, name: 'unlink', path }, () => fs.unlinkSync(path)))
}

/** False where it is there already. */
export function mkdir(point: string, path: string): boolean {
  return isDoneUnless('EEXIST', () =>
    step({ point, name: 'mkdir', path }, () => forOwner(() => fs.mkdirSync(path, 0o700))),
  )
}

/** For a directory above the home, which is not ours: with its usual mode. */
export function mkdirAbove(point: string, path: string): void {
  isDoneUnless('EEXIST', () => step({ point, name: 'mkdir', path }, () => forOwner(() => fs.mkdirSync(path))))
}

/** For directories of the user's, above a file that a tool writes. */
export function mkdirAll(point: string, path: string): void {
  step({ point, name: 'mkdir', path }, () => fs.mkdirSync(path, { recursive: true }))
}

/** Makes the file where it is missing, and its time of modification now. */
export function touch(point: string, path: string): void {
  const file = open(point, path, 'create')
  try {
    step({ point, name: 'write', path }, () => fs.futimesSync(file.fd, new Date(), new Date()))
  } finally {
    close(file)
  }
}

/** Removes a directory and all that is in it. */
export function removeTree(point: string, path: string): void {
  step({ point, name: 'rmdir', path }, () => fs.rmSync(path, { recursive: true, force: true }))
}

/** Empty where the directory is not there. */
export function listDirectory(point: string, path: string): string[] {
  const list = (): string[] => {
    confinement.refuseLinks(path)
    return fs.readdirSync(path)
  }
  return unless('ENOENT', () => step({ point, name: 'read', path }, list)) ?? []
}

/** The same of a directory of directories: what is in it need not be looked at for links one by one. */
export function listDirectories(point: string, path: string): string[] {
  const list = (): string[] => {
    confinement.refuseLinks(path)
    return fs.readdirSync(path, { withFileTypes: true }).map((entry) => {
      if (entry.isDirectory()) confinement.learn(path, entry.name)
      return entry.name
    })
  }
  return unless('ENOENT', () => step({ point, name: 'read', path }, list)) ?? []
}

/** Files of /proc and the like, where any error means that there is nothing to know. */
export function readProc(path: string): Buffer | undefined {
  try {
    return fs.readFileSync(path)
  } catch {
    return undefined
  }
}

/** Calls back on each change in the directory. Advisory: the caller looks for itself from time to time. */
export function watchDirectory(path: string, onChange: () => void): { close(): void } {
  try {
    const watcher = fs.watch(path, { persistent: false }, onChange)
    watcher.on('error', () => watcher.close())
    return watcher
  } catch {
    return { close: () => undefined }
  }
}
