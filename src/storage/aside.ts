/**
 * A log too damaged to continue is set aside, never deleted, and a new log takes its place.
 *
 * A crash or power cut leaves either the damaged log under its own name, perhaps with a second name, or the new log.
 * The old log's snapshot may remain beside the new log: readers refuse it, and the next rebuild replaces it.
 */
import { basename } from 'node:path'
import { clock } from '../clock.js'
import { lstatIfThere } from '../host/disk/facts.js'
import * as io from '../host/disk/io.js'
import { replace } from '../host/disk/replace.js'
import { frame } from './log/frame.js'
import type { AgentPaths } from './paths.js'

export interface SetAside {
  /** New names of the damaged files, in the same directory. */
  log: string | null
  snapshot: string | null
}

/**
 * Gives each damaged file a second name. Durable on return. Also fsyncs the key index, which no writer does: beside a
 * damaged log it may be the only record of a key. Needs the agent's lock.
 */
export function keepDamaged(agent: AgentPaths): SetAside {
  syncKeys(agent.keys)
  const kept = { log: linkAside(agent.log), snapshot: linkAside(agent.snapshot) }
  io.syncDirectory('aside.sync_directory', agent.root)
  return kept
}

/** Durable on return. Needs the agent's lock. Call `keepDamaged` first. */
export function replaceLog(agent: AgentPaths, bytes: Buffer, snapshot: object): void {
  replace('aside.log', agent.log, bytes, { durableName: true })
  // The name must be durable too: beside the new log, the old snapshot would claim that records are missing.
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

/** Returns an unused name beside the file. */
export function asideName(path: string): string {
  const time = new Date(clock.now()).toISOString().replaceAll(/[-:]/g, '')
  for (let count = 1; ; count++) {
    const aside = `${path}.damaged-${time}${count === 1 ? '' : `-${count}`}`
    if (lstatIfThere('aside.stat', aside) === undefined) return aside
  }
}

/** Null if the file does not exist. */
function linkAside(path: string): string | null {
  const found = lstatIfThere('aside.stat', path)
  if (found === undefined) return null
  const aside = asideName(path)
  // A hard link keeps the log's own name until the new log replaces it. A directory, FIFO or symlink is renamed: the
  // new log could not be renamed over a directory.
  if (found.kind === 'file') io.link('aside.link', path, aside)
  else io.rename('aside.rename', path, aside)
  return basename(aside)
}
