/**
 * A directory of messages, one file each. Order of a delivery: temporary file, fsync, link, fsync of the directory. So
 * a message exists whole or not at all, and it is durable before its sender is acknowledged.
 *
 * Until the directory is fsynced, a power cut may bring an unlinked file back. Consumers deduplicate by id, and forget
 * an id only after `syncMaildir` (durability rule 9).
 */
import { dirname } from 'node:path'
import { statIfThere } from '../host/disk/facts.js'
import * as io from '../host/disk/io.js'
import { createWhole } from '../host/disk/replace.js'
import { writerOf } from '../host/disk/temporary.js'
import { limits } from '../limits.js'
import { isTrustedFile } from '../start/trust.js'
import { isLeftover, parseMailFile, parseReturnedFile } from './paths.js'

/** False if the name is taken. `beforeLink`: see `createWhole`. */
export function putMessage(path: string, bytes: Buffer, beforeLink?: () => void): boolean {
  const directory = dirname(path)
  // A spawn makes and fsyncs the inbox. This restores an inbox that a person deleted.
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

/**
 * Whether the directory has a message or a temporary file. A temporary file of a dead sender counts until it is swept.
 */
export function hasMessages(directory: string): boolean {
  return io
    .listDirectory('mail.list', directory)
    .some((name) => parseMailFile(name) !== undefined || isLeftover(name))
}

/**
 * Empty, without reading it, if it is not a regular file, is larger than any message, or could be of another user: a message
 * becomes a prompt. Undefined if it does not exist.
 */
export function readMessage(path: string): Buffer | undefined {
  const facts = statIfThere('mail.stat', path)
  if (facts === undefined) return undefined
  const { kind, sizeBytes, owner: uid, group: gid, mode } = facts
  const isMessage =
    kind === 'file' && sizeBytes <= limits.mailFileBytesMax && isTrustedFile({ uid, gid, mode })
  return isMessage ? io.readIfThere('mail.read', path) : Buffer.alloc(0)
}

/** False if it was already gone. */
export function removeMessage(path: string): boolean {
  return io.unlink('mail.remove', path)
}

export function syncMaildir(directory: string): void {
  io.syncDirectory('mail.sync_removals', directory)
}

/** Removes every temporary file. Only for directories whose single writer is the lock holder, which calls this. */
export function sweepLeftovers(directory: string): number {
  return sweepTemps(directory, () => true)
}

/**
 * Removes temporary files of dead writers, in directories with several writers. A file with an unknown writer counts as
 * abandoned if it was modified at or before `olderThanMs`. A living writer repeats its write with a new one.
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
