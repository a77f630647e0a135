/**
 * The reading functions of the substrat that runs this plugin. They come from that installation and not from this bundle, so
 * that the server and the commands always read a home by the same rules.
 */
import { createRequire } from 'node:module'
import path from 'node:path'
import type * as reading from 'substrat/reading'

export type Core = typeof reading

export type { ErrorCode, ListRow, PageBounds, Position, SessionRecord, Store } from 'substrat/reading'

/** An agent in a list: as `list --json` has it, with the status that `list` shows a person. */
export function listed({ agent, status }: reading.ListRow): object {
  return { ...agent, shown_status: status }
}

/** `root`: the directory of the installed substrat. */
export function loadCore(root: string): Core {
  const file = path.join(root, 'dist', 'reading.cjs')
  return createRequire(file)(file) as Core
}

/** The command line that starts substrat again, for the children that write. */
export function commandOf(root: string): string[] {
  return [process.execPath, path.join(root, 'bin', 'run.js')]
}
