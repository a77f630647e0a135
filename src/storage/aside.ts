/**
 * A log that cannot be gone on with is set aside, never deleted, and another takes its place.
 *
 * What is on disk if we die, or the power goes: the damaged log under its own name, also under another; or the new log in its place. A snapshot
 * of the old one may stand beside the new one: it is refused, and replaced by the next rebuild.
 */
import { basename } from 'node:path'
import { clock } from '../clock.js'
import { lstatIfThere } from '../host/disk/facts.js'
import * as io from '../host/disk/io.js'
import { replace } from '../host/disk/replace.js'
import { frame } from './log/frame.js'
import type { AgentPaths } from './paths.js'

export interface SetAside {
  /** The names under which the damaged files are kept, beside the new ones. */
  log: string | null
  snapshot: string | null
}

/**
 * Durable when it returns: the damaged files have another name each, and their own still. So is the key index, which no
 * writer syncs: beside a damaged log it is no cache, and may be all that knows a key. Under the agent's lock.
 */
export function keepDamaged(agent: AgentPaths): SetAside {
  syncKeys(agent.keys)
  const kept = { log: linkAside(agent.log), snapshot: linkAside(agent.snapshot) }
  io.syncDirectory('aside.sync_directory', agent.root)
  return kept
}

/** Durable when it returns. Under the agent's lock, after `keepDamaged`. */
export function replaceLog(agent: AgentPaths, bytes: Buffer, snapshot: object): void {
  replace('aside.log', agent.log, bytes, { durableName: true })
  // Beside the new log the old one is not as good: it says that records are missing.
  replace('aside.snapshot', agent.snapshot, frame(snapshot), { durableName: true })
}

function syncKeys(path: string): void {
  const keys = io.openIfThere('keys.open', path, 'read')
  if (keys === undefined) return
  try {
    io.fsync('keys.fsync', keys)
  } finally {
    io.close(keys)
  }
}

/** A free name beside the file. */
export function asideName(path: string): string {
  const time = new Date(clock.now()).toISOString().replaceAll(/[-:]/g, '')
  for (let count = 1; ; count++) {
    const aside = `${path}.damaged-${time}${count === 1 ? '' : `-${count}`}`
    if (lstatIfThere('aside.stat', aside) === undefined) return aside
  }
}

/** Null where there is nothing to keep. */
function linkAside(path: string): string | null {
  const found = lstatIfThere('aside.stat', path)
  if (found === undefined) return null
  const aside = asideName(path)
  // What is no file (a directory, a FIFO, a link) cannot be linked, and cannot be renamed over.
  if (found.kind === 'file') io.link('aside.link', path, aside)
  else io.rename('aside.rename', path, aside)
  return basename(aside)
}
