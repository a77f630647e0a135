/**
 * Which bytes of the logs are synced. A sync that failed has its bytes in the page cache still, where every reader finds
 * them, until they are gone: so they are taken away, and nothing that was acknowledged may go with them.
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

  /** Of a step that is about to be done. */
  note(operation: Operation): void {
    const { name, path, to } = operation
    if (isSync(operation) && name !== 'sync_directory') this.bytes.set(path, statSync(path).size)
    // Another file stands there now, with as much of it as was synced under its own name.
    if (name === 'rename' && to?.endsWith('.jsonl')) this.bytes.set(to, this.bytes.get(path) ?? 0)
  }

  /** Of logs that were there before; one that is new is there whole, or its agent is not. */
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
