/**
 * The same state as `openForRead` finds, for who looks at very many agents: two opens and two reads where an agent is at
 * rest. Whatever is not as a clean end leaves it is left to `openForRead`, with its errors.
 */
import type { FileStore } from '../storage/store.js'
import { openForRead } from './load.js'
import { SNAPSHOT_HEAD } from './snapshot.js'
import type { State } from './state.js'

/** Undefined where there is no such agent. */
export function peekState(store: FileStore, agentId: string): State | undefined {
  // In this order, as there: a writer that goes on meanwhile has only made the log longer.
  const text = store.snapshots.peek(agentId, SNAPSHOT_HEAD)
  const state = text === undefined ? undefined : stateFrom(text, agentId)
  if (state !== undefined && store.snapshots.isEndOfLog(state)) return state
  return openForRead(store, agentId)?.state
}

/** Undefined also if the log cannot be read. Only for callers that need no reason: the next visit names it. */
export function readableState(store: FileStore, agentId: string): State | undefined {
  try {
    return peekState(store, agentId)
  } catch {
    return undefined
  }
}

function stateFrom(text: string, agentId: string): State | undefined {
  try {
    const state = JSON.parse(`{${text}}`) as State
    return state.id === agentId ? state : undefined
  } catch {
    return undefined
  }
}
