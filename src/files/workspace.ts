/**
 * Files of an agent's workspace, by names that a model gave. Nothing outside the workspace is read or written, not even
 * through a symlink.
 *
 * TOCTOU: another process may add a symlink between check and use. A symlink in the place of the file is not followed
 * (O_NOFOLLOW, rename). A symlink in the place of a directory of its path is followed, because Node has no openat(2).
 */
import { basename, dirname, isAbsolute, join, relative, resolve, sep } from 'node:path'
import { factsOf, readLinkIfThere, realPath, realPathIfThere, statIfThere } from '../host/disk/facts.js'
import * as io from '../host/disk/io.js'
import { mkdirAll } from '../host/disk/outside.js'
import { replace } from '../host/disk/replace.js'

/** Throws an Error whose message the model reads. */
export function readWorkspaceFile(workspace: string, path: string, bytesMax: number): Buffer {
  const bytes = workspaceFileIfThere(workspace, path, bytesMax)
  if (bytes === undefined) throw new Error(`${path} does not exist`)
  return bytes
}

/** The same, but undefined if there is no such file. */
export function workspaceFileIfThere(workspace: string, path: string, bytesMax: number): Buffer | undefined {
  const file = locate(workspace, path)
  const facts = statIfThere('workspace.stat', file)
  if (facts === undefined) return undefined
  // Check before the open: opening a device may have an effect.
  if (facts.kind !== 'file') throw new Error(`${path} is not a regular file`)
  return readPlain(io.open('workspace.open', file, 'read'), path, bytesMax)
}

function readPlain(file: io.OpenFile, path: string, bytesMax: number): Buffer {
  try {
    const { kind, sizeBytes } = factsOf('workspace.stat', file)
    if (kind !== 'file') throw new Error(`${path} is not a regular file`)
    if (sizeBytes > bytesMax) throw new Error(`${path} is larger than ${bytesMax} bytes`)
    return io.readRange('workspace.read', file, 0, sizeBytes)
  } finally {
    io.close(file)
  }
}

/** Atomic: a rename, which replaces a symlink instead of following it. An existing file keeps its mode and owner. */
export function writeWorkspaceFile(workspace: string, path: string, text: string): void {
  const file = locate(workspace, path)
  const facts = statIfThere('workspace.stat', file)
  if (facts !== undefined && facts.kind !== 'file') throw new Error(`${path} is not a regular file`)
  mkdirAll('workspace.mkdir', dirname(file))
  const like = facts ?? { mode: 0o666 & ~process.umask() }
  replace('workspace.write', file, Buffer.from(text), { durableName: true, like })
}

/** Whether the path, with symlinks resolved, is the workspace or inside it. */
export function isInWorkspace(workspace: string, path: string): boolean {
  const root = realPath('workspace.realpath', workspace)
  return isInside(root, realOfMissing(resolve(root, path)))
}

/** The real path of `path`, which need not exist. */
function locate(workspace: string, path: string): string {
  if (path === '' || path.includes('\0')) throw new Error('the path is empty or contains a NUL byte')
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

/** Resolves symlinks in the existing part of the path and appends the rest. Refuses a broken symlink. */
function realOfMissing(path: string): string {
  const real = realPathIfThere('workspace.realpath', path)
  if (real !== undefined) return real
  if (readLinkIfThere(path) !== undefined) throw new Error(`${path} is a broken symbolic link`)
  const parent = dirname(path)
  return parent === path ? path : join(realOfMissing(parent), basename(path))
}
