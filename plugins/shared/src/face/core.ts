/**
 * The reading functions of the substrat that runs a face: a server that shows agents to foreign programs by their own protocol.
 * They come from that installation, so that the face and the commands always read a home by the same rules.
 */
import { createRequire } from 'node:module'
import path from 'node:path'
import type * as reading from 'substrat/reading'

export type Core = typeof reading
export type { Entry, EntryOf, FaceActor, Position, Store } from 'substrat/reading'

/** The installation of substrat, and the home, that a face serves. */
export interface Place {
  /** The directory of the installed substrat. */
  root: string
  home: string
  /** How to open a home at a URL. */
  access: reading.HomeAccess
}

/** Without `access`, the caller opens homes by `homeAddress`. */
export function loadCore({ root, access }: Pick<Place, 'root'> & Partial<Place>): Core {
  const file = path.join(root, 'dist', 'reading.cjs')
  const core = createRequire(file)(file) as Core
  if (access !== undefined) core.openUrlsBy(access)
  return core
}

/** The command line that starts substrat again, for the commands that write. */
export function commandOf({ root }: Pick<Place, 'root'>): string[] {
  return [process.execPath, path.join(root, 'bin', 'run.js')]
}
