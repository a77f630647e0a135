import type { FileStore } from '../storage/store.js'
import { type Loaded, load } from './load.js'

/** What is in the log now, complete batches only. Undefined where there is no such agent. */
export function openForRead(store: FileStore, agentId: string): Loaded | undefined {
  const snapshot = store.snapshots.read(agentId)
  const log = store.logs.openForRead(agentId)
  if (log === undefined) return undefined
  try {
    return load(agentId, log, snapshot)
  } finally {
    log.close()
  }
}

/**
 * The same for who acknowledges what it finds: what its writer has not synced yet, or died before it did, may be only in
 * the page cache (durability rule 1).
 */
export function openDurable(store: FileStore, agentId: string): Loaded | undefined {
  const loaded = openForRead(store, agentId)
  if (loaded !== undefined && loaded.state.log_bytes > loaded.snapshotBytes) store.logs.sync(agentId)
  return loaded
}
