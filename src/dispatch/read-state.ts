import { damagedConversation, type SubstratError } from '../errors.js'
import { openForRead } from '../session/load.js'
import type { State } from '../session/state.js'
import { agentGone, type Store } from '../storage/store.js'

/** Throws AGENT_NOT_FOUND, or CORRUPT for a log that cannot be read. */
export function readState(store: Store, agentId: string): State {
  const state = openForRead(store, agentId)?.state
  if (state !== undefined) return state
  throw missingLog(store, agentId)
}

export function missingLog(store: Store, agentId: string): SubstratError {
  if (!store.hasAgent(agentId)) return agentGone(agentId)
  const path = store.label({ kind: 'log', agentId })
  return damagedConversation(`${path} is missing`, {
    hint: 'restore it from a backup',
    facts: { path },
  })
}
