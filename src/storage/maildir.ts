/**
 * A directory of messages, one file each: temp, sync, link, sync of the directory, so that a message is there whole or
 * not at all, and stored when its sender is told so.
 *
 * An unlinked file may come back after a power cut until the directory is synced: consumers deduplicate by id, and
 * forget an id only after `sync` (durability rule 9).
 */
import { dirname } from 'node:path'
import { limits } from '../limits.js'
import * as io from './io.js'
import { isLeftover, parseMailFile } from './paths.js'
import { createWhole } from './replace.js'

/** False where a message of that name is stored already. */
export function putMessage(path: string, bytes: Buffer): boolean {
  const directory = dirname(path)
  // An agent is born with its inbox, synced; this is for one that was deleted by hand.
  if (io.mkdir('mail.mkdir', directory)) io.syncDirectory('mail.sync_directory', dirname(directory))
  return createWhole('mail.put', path, bytes)
}

export function messageIdsIn(directory: string): string[] {
  return io
    .listDirectory('mail.list', directory)
    .map(parseMailFile)
    .filter((id) => id !== undefined)
}

/** Empty where it is larger than any message that we write, or no file: it is not read. */
export function readMessage(path: string): Buffer | undefined {
  const facts = io.statIfThere('mail.stat', path)
  if (facts === undefined) return undefined
  const isMessage = facts.kind === 'file' && facts.sizeBytes <= limits.mailFileBytesMax
  return isMessage ? io.readIfThere('mail.read', path) : Buffer.alloc(0)
}

/** False where it was gone already. */
export function removeMessage(path: string): boolean {
  return io.unlink('mail.remove', path)
}

export function syncMaildir(directory: string): void {
  io.syncDirectory('mail.sync_removals', directory)
}

/** Temps of senders that died; a living sender's is younger than `olderThanMs`. */
export function sweepLeftovers(directory: string, olderThanMs: number): number {
  let swept = 0
  for (const name of io.listDirectory('sweep.list', directory)) {
    const path = `${directory}/${name}`
    if (!isLeftover(name)) continue
    const facts = io.statIfThere('sweep.stat', path)
    if (facts === undefined || facts.modifiedMs > olderThanMs) continue
    if (io.unlink('sweep.unlink', path)) swept += 1
  }
  return swept
}
