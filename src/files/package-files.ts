/**
 * The files of a user's package, from its directory or its npm tarball, and a copy of them that is made whole or not at all.
 *
 * A crash leaves no copy, or a whole one, and perhaps a temporary directory beside it, which the next copy removes.
 */
import { createHash } from 'node:crypto'
import { dirname, join } from 'node:path'
import { SubstratError } from '../errors.js'
import { lstatIfThere, statIfThere } from '../host/disk/facts.js'
import * as io from '../host/disk/io.js'
import { isTemporaryName, temporaryName, writerOf } from '../host/disk/temporary.js'
import { random } from '../start/random.js'
import { filesOf } from './tar.js'
import { readUserBytes } from './user-files.js'

/** The bytes by path within the package. */
export type PackageFiles = Map<string, Buffer>

const BYTES_MAX = 256 * 1024 * 1024
const MANIFEST = 'package.json'
const DIGEST = /^[0-9a-f]{16}$/
/** npm puts the package into this directory of its tarball. Other tools use other names. */
const TOP_DIRECTORY = /^[^/]+\//

/** Throws USAGE unless the source is a package of regular files. Runs nothing. */
export async function readPackageFiles(path: string): Promise<PackageFiles> {
  const facts = statIfThere('package.stat', path)
  if (facts === undefined) throw noPackage(path, 'there is no such file or directory')
  const files = facts.kind === 'directory' ? filesIn(path) : await filesInTarball(path)
  if (files.has(MANIFEST)) return files
  throw noPackage(path, `it has no ${MANIFEST}`)
}

export function noPackage(path: string, why: string): SubstratError {
  return new SubstratError('USAGE', `${path} is not the package of a plugin: ${why}`, {
    hint: 'list the plugins: substrat plugins --core; how to write one: docs/providers.md',
    facts: { path },
  })
}

async function filesInTarball(path: string): Promise<PackageFiles> {
  const { gunzipSync } = await import('node:zlib')
  const packed = readUserBytes(path, BYTES_MAX)
  let archive: Buffer
  try {
    archive = gunzipSync(packed, { maxOutputLength: BYTES_MAX })
  } catch {
    throw noPackage(path, `it is not compressed by gzip, or is larger than ${BYTES_MAX} bytes`)
  }
  const files: PackageFiles = new Map()
  for (const [name, bytes] of filesOf(archive, (why) => noPackage(path, why), true)) {
    const inside = name.replace(TOP_DIRECTORY, '')
    if (!isInside(inside)) throw noPackage(path, `${JSON.stringify(name)} is outside of it`)
    if (files.has(inside)) throw noPackage(path, `${JSON.stringify(inside)} occurs twice`)
    files.set(inside, bytes)
  }
  const both = [...files.keys()].flatMap(directoriesOf).find((directory) => files.has(directory))
  if (both !== undefined) throw noPackage(path, `${JSON.stringify(both)} is a file and a directory`)
  return files
}

/** As npm packs it: its package.json, and what that lists in `files`. Without a list, all but hidden files and node_modules. */
function filesIn(directory: string): PackageFiles {
  const files: PackageFiles = new Map()
  const add = (name: string): void => {
    const path = join(directory, name)
    const facts = lstatIfThere('package.lstat', path)
    if (facts === undefined) return
    if (facts.kind === 'directory') {
      for (const entry of io.listDirectory('package.list', path)) if (isPacked(entry)) add(`${name}/${entry}`)
      return
    }
    if (facts.kind !== 'file') throw noPackage(directory, `${name} is not a regular file`)
    files.set(name, readUserBytes(path, BYTES_MAX))
  }
  for (const name of new Set([MANIFEST, ...namesIn(directory)])) add(name)
  return files
}

function namesIn(directory: string): string[] {
  let listed: unknown
  try {
    listed = JSON.parse(readUserBytes(join(directory, MANIFEST), BYTES_MAX).toString('utf8')).files
  } catch {
    throw noPackage(directory, `its ${MANIFEST} cannot be read`)
  }
  if (!Array.isArray(listed)) return io.listDirectory('package.list', directory).filter(isPacked)
  const names = listed.map((name) => String(name).replace(/^\.\//, '').replace(/\/+$/, ''))
  const odd = names.find((name) => !isInside(name) || /[*?!{[]/.test(name))
  if (odd === undefined) return names
  throw noPackage(directory, `${JSON.stringify(odd)} in its files is a pattern; pack it first: npm pack`)
}

function isPacked(name: string): boolean {
  return !name.startsWith('.') && name !== 'node_modules'
}

/** Whether the path stays in the package. */
export function isInside(path: string): boolean {
  return path !== '' && path.split('/').every((part) => part !== '' && part !== '.' && part !== '..')
}

/**
 * Copies the files to a directory below `parent`, whose name has their digest, and returns its path. Durable when it returns. Only
 * one process at a time may do it.
 */
export function placeCopy(parent: string, name: string, files: PackageFiles): string {
  const target = join(parent, `${name}-${digestOf(files)}`)
  sweep(parent)
  if (statIfThere('package.stat', target) === undefined) {
    const temporary = temporaryName(target)
    writeFiles(temporary, files)
    io.rename('package.rename', temporary, target)
  }
  // Also for a copy that a killed process has made.
  io.syncDirectory('package.sync_directory', parent)
  return target
}

/**
 * A new directory in `parent` for another program to install a package in, which `placeStage` makes a copy. Removed by the next
 * one if this process is killed. As for `placeCopy`, one process at a time.
 */
export function makeStage(parent: string): string {
  sweep(parent)
  const stage = temporaryName(join(parent, 'stage'))
  writeFiles(stage, new Map([[MANIFEST, Buffer.from('{"private":true}\n')]]))
  return stage
}

/** The stage becomes a copy that shares its name with no other. The files that the program wrote are not synced. */
export function placeStage(stage: string, name: string): string {
  const target = join(dirname(stage), `${name}-${random.bytes(8).toString('hex')}`)
  io.rename('package.rename', stage, target)
  io.syncDirectory('package.sync_directory', dirname(target))
  return target
}

function sweep(parent: string): void {
  makeDirectories(parent)
  for (const entry of io.listDirectory('package.list', parent))
    if (isTemporaryName(entry) && writerOf(entry) !== 'alive')
      io.removeTree('package.sweep', join(parent, entry))
}

/** The npm tarball in that directory. */
export function tarballIn(directory: string): string | undefined {
  const found = io.listDirectory('package.list', directory).find((name) => name.endsWith('.tgz'))
  return found && join(directory, found)
}

/** Whether the package in that directory has these files, with these bytes. */
export function hasFiles(root: string, files: PackageFiles): boolean {
  try {
    return [...files].every(([path, bytes]) =>
      io.readIfThere('package.read', join(root, path))?.equals(bytes),
    )
  } catch {
    return false
  }
}

function digestOf(files: PackageFiles): string {
  const hash = createHash('sha256')
  for (const [path, bytes] of [...files].sort(([a], [b]) => (a < b ? -1 : 1)))
    hash.update(`${Buffer.byteLength(path)} ${bytes.length} ${path}\n`).update(bytes)
  return hash.digest('hex').slice(0, 16)
}

function writeFiles(root: string, files: PackageFiles): void {
  const directories = new Set([root])
  io.mkdir('package.mkdir', root)
  for (const [path, bytes] of files) {
    for (const directory of directoriesOf(path)) {
      if (directories.has(join(root, directory))) continue
      directories.add(join(root, directory))
      io.mkdir('package.mkdir', join(root, directory))
    }
    const file = io.open('package.open', join(root, path), 'create_exclusive')
    try {
      io.writeAll('package.write', file, bytes, 0)
      io.fsync('package.fsync', file)
    } finally {
      io.close(file)
    }
  }
  for (const directory of directories) io.syncDirectory('package.sync_directory', directory)
}

/** `a`, `a/b` for `a/b/c`. */
function directoriesOf(path: string): string[] {
  const parts = path.split('/').slice(0, -1)
  return parts.map((_, at) => parts.slice(0, at + 1).join('/'))
}

/** Makes the missing ones for the user alone: substrat loads no code that others could change. */
export function makeDirectories(path: string): void {
  if (statIfThere('package.stat', path) !== undefined) return
  makeDirectories(dirname(path))
  io.mkdir('package.mkdir', path)
  io.syncDirectory('package.sync_directory', dirname(path))
}

/** The paths of the copies with that name. */
export function copiesOf(parent: string, name: string): string[] {
  const isCopy = (entry: string): boolean =>
    entry.startsWith(`${name}-`) && DIGEST.test(entry.slice(name.length + 1))
  return io
    .listDirectory('package.list', parent)
    .filter(isCopy)
    .map((entry) => join(parent, entry))
}

export function removeCopy(path: string): void {
  io.removeTree('package.remove', path)
}
