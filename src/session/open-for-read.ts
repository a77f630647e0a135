import type { FileStore } from '../storage/store.js'
import { type Loaded, load } from './load.js'

/** What is in the log now, complete batches only. Undefined where there is no such agent. */
export function openForRead(store: FileStore, agentId: string): Loaded | undefined {
  const snapshot = store.readSnapshot(agentId)
  const log = store.openLogForRead(agentId)
  if (log === undefined) return undefined
  try {
    return load(agentId, log, snapshot)
  } finally {
    log.close()
  }
}
