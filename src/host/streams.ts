/**
 * The standard streams of this process by their descriptors, without Node's stream objects. Loading those takes a tenth of the
 * time of a short command.
 */
import { errnoName } from '../errors.js'
import * as outside from './disk/outside.js'

/** A method of Node that its types lack. */
type ProcessWithBinding = NodeJS.Process & { binding(name: 'tty_wrap'): { isTTY(fd: number): boolean } }

const NAMES = ['stdin', 'stdout', 'stderr'] as const

/** How Node makes its stream at first use. Undefined if a program that contains substrat has put its own stream there. */
export function streamMaker(fd: 0 | 1 | 2): (() => NodeJS.WriteStream) | undefined {
  return Object.getOwnPropertyDescriptor(process, NAMES[fd])?.get
}

/** Whether a part of this process may have made one of these streams. True if this version of Node does not say. */
export function areStreamsLoaded(): boolean {
  const { moduleLoadList } = process as NodeJS.Process & { moduleLoadList?: string[] }
  return moduleLoadList?.includes('NativeModule stream') ?? true
}

/** Uses the binding, because node:tty loads Node's sockets. */
export function isTerminal(fd: 0 | 1 | 2): boolean {
  if (streamMaker(fd) === undefined) return process[NAMES[fd]].isTTY === true
  try {
    return (process as ProcessWithBinding).binding('tty_wrap').isTTY(fd)
  } catch {
    return process.getBuiltinModule('node:tty').isatty(fd)
  }
}

/**
 * A descriptor that reaches the target of stdout or stderr and whose writes never wait: for a file or device the same one, for a
 * pipe another one that does not block. Undefined for a terminal, for a socket, and where the system has no such way to a pipe.
 */
export function unblockedDescriptor(fd: 1 | 2): number | undefined {
  try {
    const kind = outside.streamKind(fd)
    // A write to the other end of a pipe fails. Opened again, it would succeed.
    if (kind === 'pipe') return outside.isWritable(fd) ? outside.openPipe(fd) : fd
    return kind === 'file' || (kind === 'device' && !isTerminal(fd)) ? fd : undefined
  } catch {
    return undefined
  }
}

/** Appends `bytes`. Returns how many were written, and the name of the error that stopped the write. */
export function writeStream(fd: number, bytes: Uint8Array): { written: number; errno?: string } {
  let written = 0
  try {
    while (written < bytes.length) written += outside.writeStream(fd, bytes, written)
    return { written }
  } catch (error) {
    return { written, errno: String(errnoName(error)) }
  }
}
