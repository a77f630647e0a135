/**
 * What lists show of an agent, for very many of them: of one at rest the beginning and the end of its snapshot are
 * enough, and parsing the rest would take longer than reading it. Whatever is not exactly as of an agent at rest is
 * left to `peekState`.
 *
 * Invariant: the derived status of a summary is that of the whole state.
 */
import type { FileStore } from '../storage/store.js'
import { peekState } from './peek-state.js'
import { SNAPSHOT_HEAD } from './snapshot.js'
import { type AgentSummary, idleSummary } from './snapshot-layout.js'

/** Undefined where there is no such agent. With mail in its inbox the whole state is read: a summary names none that was delivered. */
export function peekSummary(store: FileStore, agentId: string, hasMail: boolean): AgentSummary | undefined {
  const text = hasMail ? undefined : store.snapshots.peek(agentId, SNAPSHOT_HEAD)
  const summary = text === undefined ? undefined : idleSummary(text)
  const isTrusted = summary?.id === agentId && store.snapshots.isEndOfLog(summary)
  return isTrusted ? summary : peekState(store, agentId)
}
