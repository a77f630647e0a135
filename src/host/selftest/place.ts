/**
 * The directory of a selftest: on the file system of a home, and in its place as far as locks and rights matter. It is beside the
 * home, or inside a home that is a mount point or whose parent this user may not write.
 *
 * Its name is that of a temporary file, which names its writer. The next selftest removes what a killed one left, and every other
 * command overlooks it.
 */
import { dirname, join } from 'node:path'
import { clock } from '../../clock.js'
import type { SubstratError } from '../../errors.js'
import { type FileFacts, realPathIfThere, statIfThere } from '../disk/facts.js'
import * as io from '../disk/io.js'
import { isTemporaryName, temporaryName, writerOf } from '../disk/temporary.js'

const PREFIX = '.substrat-selftest'

/** A place whose writer is unknown, as in another container, has no living writer from this age. */
const LEFTOVER_AGE_MS = 10 * 60_000

/** A program that was just killed may still write a file. */
const REMOVALS_MAX = 20

export function isSelftestPlace(name: string): boolean {
  return name.startsWith(`${PREFIX}.`) && isTemporaryName(name)
}

export interface Place {
  root: string
  /** Not made yet. */
  home: string
  workspace: string
  files: string
}

export function makePlace(home: string): Place {
  const root = makeRoot(home)
  const place = {
    root,
    home: join(root, 'home'),
    workspace: join(root, 'workspace'),
    files: join(root, 'files'),
  }
  for (const directory of [place.workspace, place.files]) io.mkdir('selftest.mkdir', directory)
  return place
}

function makeRoot(home: string): string {
  const parents = parentsFor(home)
  for (const parent of parents) if (parent !== undefined) sweepPlaces(parent)
  return makeIn(...parents)
}

function makeIn(parent: string, other?: string): string {
  const root = temporaryName(join(parent, PREFIX))
  try {
    io.mkdir('selftest.mkdir', root)
    return root
  } catch (error) {
    const { errno } = (error as SubstratError).facts
    if (other === undefined || !['EACCES', 'EPERM', 'EROFS'].includes(String(errno))) throw error
    return makeIn(other)
  }
}

/** The second one only if the first cannot be written. */
function parentsFor(home: string): [string, string?] {
  const root = realPathIfThere('selftest.stat', home) ?? home
  const facts = statIfThere('selftest.stat', root)
  const { path, device } = existingAbove(root)
  if (facts?.kind !== 'directory') return [path]
  return facts.device === device ? [path, root] : [root]
}

function existingAbove(root: string): { path: string } & FileFacts {
  const path = dirname(root)
  const facts = statIfThere('selftest.stat', path)
  return facts === undefined ? existingAbove(path) : { path, ...facts }
}

function sweepPlaces(parent: string): void {
  for (const name of placesIn(parent)) {
    const path = join(parent, name)
    const writer = writerOf(name)
    const ageMs = clock.now() - (statIfThere('selftest.stat', path)?.modifiedMs ?? Number.NaN)
    if (writer === 'dead' || (writer === 'unknown' && ageMs > LEFTOVER_AGE_MS)) removePlace(path)
  }
}

/** None if this user may not list it: a selftest made none there. */
function placesIn(parent: string): string[] {
  try {
    return io.listDirectory('selftest.list', parent).filter(isSelftestPlace)
  } catch {
    return []
  }
}

/** Never throws. The next selftest sweeps the rest. */
export function removePlace(root: string): void {
  for (let removals = 0; removals < REMOVALS_MAX; removals++) {
    try {
      io.removeTree('selftest.remove', root)
      return
    } catch {
      // A file appeared in a directory that was just emptied.
    }
  }
}
