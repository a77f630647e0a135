/**
 * Files of an agent's workspace, by names that a model gave: nothing outside it is read or written, wherever links lead.
 * Who works in the workspace at the same time may put a link there after the look: one at the end of the path is not
 * followed even then. One in the middle of it would be, because Node has no openat(2).
 */
import { basename, dirname, isAbsolute, join, relative, resolve, sep } from 'node:path'
import { factsOf, readLinkIfThere, realPath, realPathIfThere, statIfThere } from '../host/disk/facts.js'
import * as io from '../host/disk/io.js'
import { replace } from '../host/disk/replace.js'

/** Throws an Error in words for the model. */
export function readWorkspaceFile(workspace: string, path: string, bytesMax: number): Buffer {
  const file = locate(workspace, path)
  const facts = statIfThere('workspace.stat', file)
  if (facts === undefined) throw new Error(`there is no file ${path}`)
  // Before it is opened: opening a device may do something.
  if (facts.kind !== 'file') throw new Error(`${path} is no plain file`)
  return readPlain(io.open('workspace.open', file, 'read'), path, bytesMax)
}

function readPlain(file: io.OpenFile, path: string, bytesMax: number): Buffer {
  try {
    const { kind, sizeBytes } = factsOf('workspace.stat', file)
    if (kind !== 'file') throw new Error(`${path} is no plain file`)
    if (sizeBytes > bytesMax) throw new Error(`${path} is larger than ${bytesMax} bytes`)
    return io.readRange('workspace.read', file, 0, sizeBytes)
  } finally {
    io.close(file)
  }
}

/** Whole, or not at all: a rename takes the place of a link too. A file that is there keeps its mode and its owner. */
export function writeWorkspaceFile(workspace: string, path: string, text: string): void {
  const file = locate(workspace, path)
  const facts = statIfThere('workspace.stat', file)
  if (facts !== undefined && facts.kind !== 'file') throw new Error(`${path} is no plain file`)
  io.mkdirAll('workspace.mkdir', dirname(file))
  const like = facts ?? { mode: 0o666 & ~process.umask() }
  replace('workspace.write', file, Buffer.from(text), { durableName: true, like })
}

/** Whether the path is the workspace, or leads into it. */
export function isInWorkspace(workspace: string, path: string): boolean {
  const root = realPath('workspace.realpath', workspace)
  return isInside(root, realOfMissing(resolve(root, path)))
}

/** The real path of what `path` names, which may not be there yet. */
function locate(workspace: string, path: string): string {
  if (path === '' || path.includes('\0')) throw new Error('the path is empty or has a NUL')
  const root = realPath('workspace.realpath', workspace)
  const real = realOfMissing(resolve(root, path))
  if (!isInside(root, real)) throw new Error(`${path} is outside the workspace`)
  return real
}

/** Both are real paths. */
export function isInside(root: string, real: string): boolean {
  const inside = relative(root, real)
  return !(inside === '..' || inside.startsWith(`..${sep}`) || isAbsolute(inside))
}

/** Links resolved as far as the path is there; what is not there yet is plain. A link that leads nowhere is refused. */
function realOfMissing(path: string): string {
  const real = realPathIfThere('workspace.realpath', path)
  if (real !== undefined) return real
  if (readLinkIfThere(path) !== undefined) throw new Error(`${path} is a link that leads nowhere`)
  const parent = dirname(path)
  return parent === path ? path : join(realOfMissing(parent), basename(path))
}
