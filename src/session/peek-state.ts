/**
 * Fast path to the state that `openForRead` returns, for commands that read very many agents: two opens and two reads for an
 * idle agent. Unless the files are as a cleanly closed session leaves them, `openForRead` does the work and reports the errors.
 */
import type { Store } from '../storage/store.js'
import { openForRead } from './load.js'
import { SNAPSHOT_HEADS, snapshotIn } from './snapshot.js'
import type { State } from './state.js'

/** Undefined if the agent does not exist. */
export function peekState(store: Store, agentId: string): State | undefined {
  return store.peek(agentId, SNAPSHOT_HEADS, snapshotIn) ?? openForRead(store, agentId)?.state
}

/** Undefined also if the log cannot be read. Only for callers that need no reason: the next visit names it. */
export function readableState(store: Store, agentId: string): State | undefined {
  try {
    return peekState(store, agentId)
  } catch {
    return undefined
  }
}
