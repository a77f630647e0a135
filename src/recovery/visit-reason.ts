/**
 * Why an agent needs another visit. An agent with such a reason keeps its marker. The audit reports such an agent if it has
 * no marker. A terminated agent with such a reason is not removed.
 */
import type { State } from '../session/state.js'
import { isInterrupted, needsPerson } from '../session/status.js'
import type { FileStore } from '../storage/store.js'

/** `outbox`: replies and notices that the agent has not sent yet. `return`: mail to a terminated agent, not yet returned. */
export type VisitReason = 'outbox' | 'mail' | 'return' | 'turn' | 'decision' | 'poke' | 'reminder'

/**
 * Undefined if the agent needs no visit. By default a message counts from the moment its sender begins to store it: a visit
 * that ends meanwhile then keeps the marker. The audit passes `holdsStored`. It holds no lock, and the sender makes the
 * marker only after it has begun to store the message.
 */
export function reasonToVisit(
  store: FileStore,
  state: State,
  holdsMail = (id: string): boolean => store.mail.holdsAny(id),
): VisitReason | undefined {
  if (state.owes.length > 0) return 'outbox'
  const { id } = state
  if (state.state === 'terminated') {
    if (holdsStored(store, id)) return 'mail'
    return store.mail.idsToReturn(id).length > 0 ? 'return' : undefined
  }
  // A damaged message counts too, and a delivered one until its file is removed (row K).
  if (holdsMail(id)) return 'mail'
  if (state.run?.status === 'open' || isInterrupted(state)) return 'turn'
  // Recovery does not continue such a turn. It reports the turn until a person decides.
  if (needsPerson(state)) return 'decision'
  if (state.isPoked) return 'poke'
  return state.reminders.length > 0 ? 'reminder' : undefined
}

export function holdsStored(store: FileStore, agentId: string): boolean {
  return store.mail.ids(agentId).length > 0
}
