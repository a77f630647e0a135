/**
 * Why an agent needs another visit. An agent with such a reason keeps its marker. The audit reports such an agent if it has
 * no marker. A terminated agent with such a reason is not removed.
 */
import { hasNextSlot } from '../schedule/due.js'
import { isDeferred } from '../session/fold/mail.js'
import type { State } from '../session/state.js'
import { isInterrupted, needsPerson } from '../session/status.js'
import type { Store } from '../storage/store.js'

/**
 * `outbox`: replies and notices that the agent has not sent yet. `outbound`: messages that must leave the machine. `return`: mail
 * to a terminated agent, not yet returned.
 */
export type VisitReason =
  | 'outbox'
  | 'outbound'
  | 'mail'
  | 'return'
  | 'turn'
  | 'decision'
  | 'poke'
  | 'reminder'
  | 'schedule'

/**
 * Undefined if the agent needs no visit. Counts stored messages only: a sender makes the marker after it has begun to store its
 * message, so a caller without the agent's lock must not expect a marker earlier.
 */
export function reasonToVisit(store: Store, state: State): VisitReason | undefined {
  if (hasOutbox(state)) return 'outbox'
  // A damaged message counts too, and a delivered one until its file is removed (row K).
  if (store.mail.ids(state.id).length > 0) return 'mail'
  return returnsMail(store, state) ? 'return' : reasonInState(state)
}

/** Whether the agent is terminated and has mail that it must still return. */
export function returnsMail(store: Store, state: State): boolean {
  return state.state === 'terminated' && store.mail.idsToReturn(state.id).length > 0
}

/** The same for an agent without mail. */
export function reasonInState(state: State): VisitReason | undefined {
  if (hasOutbox(state)) return 'outbox'
  if (state.outbound !== undefined) return 'outbound'
  if (state.state === 'terminated') return undefined
  if (state.run?.status === 'open' || isInterrupted(state)) return 'turn'
  // Recovery does not continue such a turn. It reports the turn until a person decides.
  if (needsPerson(state)) return 'decision'
  if (state.isPoked) return 'poke'
  if (state.reminders.length > 0) return 'reminder'
  return state.schedules !== undefined && hasNextSlot(state) ? 'schedule' : undefined
}

/** A deferred error needs no visit, because the command that makes it due visits the agent. */
function hasOutbox(state: State): boolean {
  return state.owes.some((owed) => !isDeferred(state, owed))
}
