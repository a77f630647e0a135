/** Files of an agent's workspace, by names that a model gave: nothing outside it is read or written, wherever links lead. */
import { basename, dirname, isAbsolute, join, relative, resolve, sep } from 'node:path'
import * as io from './io.js'
import { writeUserFile } from './user-files.js'

/** Throws an Error in words for the model. */
export function readWorkspaceFile(workspace: string, path: string, bytesMax: number): Buffer {
  const file = locate(workspace, path)
  const facts = io.statIfThere('workspace.stat', file)
  if (facts === undefined) throw new Error(`there is no file ${path}`)
  if (facts.kind !== 'file') throw new Error(`${path} is no plain file`)
  if (facts.sizeBytes > bytesMax) throw new Error(`${path} is larger than ${bytesMax} bytes`)
  return io.readFollowing('workspace.read', file)
}

export async function writeWorkspaceFile(workspace: string, path: string, text: string): Promise<void> {
  const file = locate(workspace, path)
  const facts = io.statIfThere('workspace.stat', file)
  if (facts !== undefined && facts.kind !== 'file') throw new Error(`${path} is no plain file`)
  io.mkdirAll('workspace.mkdir', dirname(file))
  await writeUserFile(file, text)
}

/** Whether the path is the workspace, or leads into it. */
export function isInWorkspace(workspace: string, path: string): boolean {
  const root = io.realPath('workspace.realpath', workspace)
  return isInside(root, realOfMissing(resolve(root, path)))
}

/** The real path of what `path` names, which may not be there yet. */
function locate(workspace: string, path: string): string {
  if (path === '' || path.includes('\0')) throw new Error('the path is empty or has a NUL')
  const root = io.realPath('workspace.realpath', workspace)
  const real = realOfMissing(resolve(root, path))
  if (!isInside(root, real)) throw new Error(`${path} is outside the workspace`)
  return real
}

function isInside(root: string, real: string): boolean {
  const inside = relative(root, real)
  return !(inside === '..' || inside.startsWith(`..${sep}`) || isAbsolute(inside))
}

/** Links resolved as far as the path is there; what is not there yet is plain. A link that leads nowhere is refused. */
function realOfMissing(path: string): string {
  const real = io.realPathIfThere('workspace.realpath', path)
  if (real !== undefined) return real
  if (io.readLinkIfThere(path) !== undefined) throw new Error(`${path} is a link that leads nowhere`)
  const parent = dirname(path)
  return parent === path ? path : join(realOfMissing(parent), basename(path))
}
