/**
 * Tracks which bytes of the logs are synced. After a failed fsync the bytes are still in the page cache, where every
 * reader sees them until a crash. This class removes them; no acknowledged record may be among them.
 */
import { statSync, truncateSync } from 'node:fs'
import { join } from 'node:path'
import type { Operation } from '../../src/host/disk/operation.js'
import type { Image } from '../machine/image.js'
import type { MachineLab } from '../machine/lab.js'

const SYNCS = new Set(['fdatasync', 'fsync', 'sync_directory'])

export function isSync({ name }: Operation): boolean {
  return SYNCS.has(name)
}

export class SyncedLogs {
  private readonly bytes = new Map<string, number>()

  /** Called before each step. */
  note(operation: Operation): void {
    const { name, path, to } = operation
    if (isSync(operation) && name !== 'sync_directory') this.bytes.set(path, statSync(path).size)
    // The renamed file keeps the synced length of its old name.
    if (name === 'rename' && to?.endsWith('.jsonl')) this.bytes.set(to, this.bytes.get(path) ?? 0)
  }

  /** Applies to logs that existed before. A new log is complete, or its agent does not exist. */
  loseTheRest(before: Image, { root }: MachineLab): void {
    for (const [name, bytes] of before.entries) {
      const path = join(root, name)
      if (bytes === null || !name.endsWith('.jsonl')) continue
      const size = statSync(path, { throwIfNoEntry: false })?.size ?? 0
      const synced = this.bytes.get(path) ?? bytes.length
      if (synced < size) truncateSync(path, synced)
    }
  }
}
