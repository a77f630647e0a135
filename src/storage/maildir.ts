/**
 * A directory of messages, one file each: temp, sync, link, sync of the directory, so that a message is there whole or
 * not at all, and stored when its sender is told so.
 *
 * An unlinked file may come back after a power cut until the directory is synced: consumers deduplicate by id, and
 * forget an id only after `sync` (durability rule 9).
 */
import { dirname } from 'node:path'
import { statIfThere } from '../host/disk/facts.js'
import * as io from '../host/disk/io.js'
import { createWhole } from '../host/disk/replace.js'
import { writerOf } from '../host/disk/temporary.js'
import { limits } from '../limits.js'
import { isLeftover, parseMailFile, parseReturnedFile } from './paths.js'

/** False where a message of that name is stored already. `beforeLink`: see `createWhole`. */
export function putMessage(path: string, bytes: Buffer, beforeLink?: () => void): boolean {
  const directory = dirname(path)
  // A spawn makes the inbox and syncs it; this is for one that was deleted by hand.
  if (io.mkdir('mail.mkdir', directory)) io.syncDirectory('mail.sync_directory', dirname(directory))
  return createWhole('mail.put', path, bytes, beforeLink)
}

export function messageIdsIn(directory: string): string[] {
  return idsIn(directory, parseMailFile)
}

export function returnedIdsIn(directory: string): string[] {
  return idsIn(directory, parseReturnedFile)
}

function idsIn(directory: string, parse: (name: string) => string | undefined): string[] {
  return io
    .listDirectory('mail.list', directory)
    .map(parse)
    .filter((id) => id !== undefined)
}

/** Whether a message is there, or one whose sender is just storing it: of a sender that is dead, until that is swept. */
export function hasMessages(directory: string): boolean {
  return io
    .listDirectory('mail.list', directory)
    .some((name) => parseMailFile(name) !== undefined || isLeftover(name))
}

/** Empty where it is larger than any message that we write, or no file: it is not read. */
export function readMessage(path: string): Buffer | undefined {
  const facts = statIfThere('mail.stat', path)
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

/** Every temp: where only the holder of a lock writes, and that is us. */
export function sweepLeftovers(directory: string): number {
  return sweepTemps(directory, () => true)
}

/**
 * Temps of writers that died, where others may write right now. One whose writer cannot be known counts as left when it
 * is older than `olderThanMs`; a writer that lives makes another.
 */
export function sweepAbandoned(directory: string, olderThanMs: number): number {
  return sweepTemps(directory, (name) => {
    const writer = writerOf(name)
    if (writer !== 'unknown') return writer === 'dead'
    const facts = statIfThere('sweep.stat', `${directory}/${name}`)
    return facts !== undefined && facts.modifiedMs <= olderThanMs
  })
}

function sweepTemps(directory: string, isLeft: (name: string) => boolean): number {
  const temps = io.listDirectory('sweep.list', directory).filter(isLeftover)
  return temps.filter((name) => isLeft(name) && io.unlink('sweep.unlink', `${directory}/${name}`)).length
}
