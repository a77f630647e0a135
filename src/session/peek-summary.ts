/**
 * Fast path for `list`: an idle agent's row is read from the beginning and the end of its snapshot, because parsing the rest
 * would take longer than reading it. Unless the snapshot has exactly the form of an idle agent's, `peekState` does the work.
 *
 * Invariant: a summary has the same derived status as the whole state.
 */
import type { Store } from '../storage/store.js'
import { peekState } from './peek-state.js'
import { SNAPSHOT_HEADS } from './snapshot.js'
import { type AgentSummary, idleSummary } from './snapshot-layout.js'

/** Undefined if the agent does not exist. With mail in its inbox the whole state is read, because a summary has no delivered ids. */
export function peekSummary(store: Store, agentId: string, hasMail: boolean): AgentSummary | undefined {
  const summary = hasMail
    ? undefined
    : store.peek(agentId, SNAPSHOT_HEADS, ({ text }) => idleSummary(text('latin1'), agentId))
  return summary ?? peekState(store, agentId)
}
