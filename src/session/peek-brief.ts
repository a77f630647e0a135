/**
 * What lists show of an agent, for very many of them: of one at rest the beginning and the end of its snapshot are
 * enough, and parsing the rest would take longer than reading it. Whatever is not exactly as of an agent at rest is
 * left to `peekState`.
 *
 * Invariant: the derived status of a brief is that of the whole state.
 */
import type { FileStore } from '../storage/store.js'
import { peekState } from './peek-state.js'
import { SNAPSHOT_HEAD } from './snapshot.js'
import { type Brief, briefAtRest } from './snapshot-layout.js'

/** Undefined where there is no such agent. With mail in its inbox the whole state is read: a brief names none that was delivered. */
export function peekBrief(store: FileStore, agentId: string, hasMail: boolean): Brief | undefined {
  const text = hasMail ? undefined : store.snapshots.peek(agentId, SNAPSHOT_HEAD)
  const brief = text === undefined ? undefined : briefAtRest(text)
  const isTrusted = brief?.id === agentId && store.snapshots.isEndOfLog(brief)
  return isTrusted ? brief : peekState(store, agentId)
}
