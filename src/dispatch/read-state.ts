import { damagedConversation, REBUILD, type SubstratError } from '../errors.js'
import { openForRead } from '../session/load.js'
import { snapshotAlone } from '../session/snapshot.js'
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
    hint: `restore it from a backup, or continue from its snapshot: ${REBUILD}`,
    facts: { path },
  })
}

/** The path of an agent whose log cannot be read: from its snapshot, or its name in the index of the roots. Null if both fail. */
export function lastKnownPath(store: Store, agentId: string): string | null {
  try {
    return (
      snapshotAlone(store.upkeep.readSnapshot(agentId), agentId)?.path ??
      store.names(null).nameOf(agentId) ??
      null
    )
  } catch {
    return null
  }
}
