/**
 * The same state as `openForRead` finds, for who looks at very many agents: two opens and two reads where an agent is at
 * rest. Whatever is not as a clean end leaves it is left to `openForRead`, with its errors.
 */
import { damageOf, LF } from '../storage/log/frame.js'
import { recordHead } from '../storage/log/log.js'
import type { FileStore } from '../storage/store.js'
import { openForRead } from './open-for-read.js'
import { snapshotState } from './snapshot.js'
import type { State } from './state.js'

/** Undefined where there is no such agent. */
export function glance(store: FileStore, agentId: string): State | undefined {
  // In this order, as there: a writer that goes on meanwhile has only made the log longer.
  const snapshot = store.peekSnapshot(agentId)
  const state = snapshot === undefined ? undefined : snapshotState(snapshot, agentId)
  if (state !== undefined && isWholeLog(store, state)) return state
  return openForRead(store, agentId)?.state
}

/**
 * Whether the log ends where the snapshot does, with the record that it names, by seq and time: that is what makes it trusted.
 * The log of another agent of the same shape has another time there.
 */
export function isWholeLog(store: FileStore, snapshot: SnapshotEnd): boolean {
  const { id, last_offset, log_bytes, last_seq, updated_at } = snapshot
  if (!(Number.isSafeInteger(last_offset) && last_offset >= 0)) return false
  const bytes = store.peekLog(id, last_offset)
  if (bytes?.length !== log_bytes - last_offset || bytes.at(-1) !== LF) return false
  return damageOf(bytes.subarray(0, -1), `${recordHead(last_seq)}"ts":"${updated_at}",`) === undefined
}

type SnapshotEnd = Pick<State, 'id' | 'last_offset' | 'log_bytes' | 'last_seq' | 'updated_at'>
