/** Files outside the home, and the streams of this process. Paths are the user's own, so symlinks are followed. */
import * as fs from 'node:fs'
import { closeFile } from '../../start/close-file.js'
import { close, readRange } from './io.js'
import { step } from './operation.js'

const { O_RDONLY, O_WRONLY, O_NONBLOCK } = fs.constants

/** Reads a user's file and follows symlinks. */
export function readFollowing(point: string, path: string): Buffer {
  return step({ point, name: 'read', path }, () => readWhole(path))
}

/** Node closes a file that it opened itself, and throws if that fails. */
function readWhole(path: string): Buffer {
  const fd = fs.openSync(path, O_RDONLY)
  try {
    return fs.readFileSync(fd)
  } finally {
    closeFile(fd)
  }
}

/** Like readFollowing, for a pipe or a device, which may have no end. Undefined for more than `bytesMax` bytes. */
export function readStream(point: string, path: string, bytesMax: number): Buffer | undefined {
  return step({ point, name: 'read', path }, () => {
    const fd = fs.openSync(path, O_RDONLY)
    try {
      const parts: Buffer[] = []
      for (let rest = bytesMax; rest >= 0; ) {
        const part = Buffer.allocUnsafe(64 * 1024)
        const count = fs.readSync(fd, part, 0, part.length, null)
        if (count === 0) return Buffer.concat(parts)
        parts.push(part.subarray(0, count))
        rest -= count
      }
      return undefined
    } finally {
      closeFile(fd)
    }
  })
}

/** Like readFollowing, but reads at most `bytesMax` bytes. */
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

/** Appends bytes from `from` on to stdout or stderr. Not a file of the home, so errors are the kernel's own. */
export function writeStream(fd: number, bytes: Uint8Array, from: number): number {
  return fs.writeSync(fd, bytes, from)
}

export function streamKind(fd: number): 'file' | 'device' | 'pipe' | 'other' {
  const stat = fs.fstatSync(fd)
  if (stat.isFIFO()) return 'pipe'
  return stat.isFile() ? 'file' : stat.isCharacterDevice() ? 'device' : 'other'
}

export function isWritable(fd: number): boolean {
  try {
    // Writes nothing, and does not wait.
    fs.writeSync(fd, new Uint8Array(0))
    return true
  } catch {
    return false
  }
}

/** Opens a pipe of this process again, for writes that do not block. */
export function openPipe(fd: number): number {
  return fs.openSync(`/proc/self/fd/${fd}`, O_WRONLY | O_NONBLOCK)
}

/** Makes the user's directories above a file that a tool writes. */
export function mkdirAll(point: string, path: string): void {
  step({ point, name: 'mkdir', path }, () => fs.mkdirSync(path, { recursive: true }))
}

/** Reads a file such as those in /proc. Any error means that the fact is unknown. */
export function readProc(path: string): Buffer | undefined {
  try {
    return readWhole(path)
  } catch {
    return undefined
  }
}
