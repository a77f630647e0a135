/**
 * The inbox of an agent: what waits for a turn of its own.
 *
 * Invariants: a message is stored whole and synced before its sender is told so. It is delivered when its record is in
 * the recipient's log, and by nothing else; the file is removed afterwards, and may come back in a power cut, so an id
 * that the log has is never delivered again (row K).
 */
import { SubstratError } from '../errors.js'
import { limits } from '../limits.js'
import type { Session } from '../session/session.js'
import type { State } from '../session/state.js'
import type { FileStore } from '../storage/store.js'
import { decodeMessage, encodeMessage, type Message } from './message.js'

/** How many messages wait for the agent. */
export function countPending(store: FileStore, state: State): number {
  return pendingIds(store, state).length
}

/**
 * Stores a message for later. Returns false where one of that id is stored already. The marker is set before and after:
 * see `FileStore.unmark`.
 */
export function post(store: FileStore, recipient: State, message: Omit<Message, 'sequence'>): boolean {
  const pending = readPending(store, recipient)
  if (pending.length >= limits.inboxMessagesMax) {
    throw new SubstratError(
      'QUEUE_FULL',
      `${pending.length} messages wait for agent ${recipient.id} already`,
      {
        hint: `let it take them: substrat resume ${recipient.id}`,
        facts: { agent_id: recipient.id, pending: pending.length },
      },
    )
  }
  const own = pending.filter(({ from }) => from === message.from)
  const sequence = own.reduce((highest, { sequence }) => Math.max(highest, sequence), 0) + 1
  store.mark(recipient.id)
  const isNew = store.putMail(recipient.id, message.message_id, encodeMessage({ ...message, sequence }))
  store.mark(recipient.id)
  return isNew
}

/** The message that is to be delivered next; undefined where none can be. */
export function nextMessage(session: Session): Message | undefined {
  const [first] = readPending(session.store, session.state).sort(
    (a, b) => a.sequence - b.sequence || (a.message_id < b.message_id ? -1 : 1),
  )
  return first
}

/** A pending message, as it was stored. */
export function findPending(store: FileStore, recipient: State, messageId: string): Message | undefined {
  return pendingIds(store, recipient).includes(messageId) ? read(store, recipient.id, messageId) : undefined
}

/** Row K: removes the files of mail that the log has. */
export function removeDelivered(session: Session): void {
  for (const id of session.store.mailIds(session.id)) {
    if (session.state.delivered.includes(id)) session.store.removeMail(session.id, id)
  }
}

/**
 * Before the state may forget delivered ids, their files must be gone for good: called before each delivery, it syncs
 * once in `deliveredIdsKeptMin` of them.
 */
export function syncBeforeForgetting(session: Session): void {
  const { length } = session.state.delivered
  if (length > 0 && length % limits.deliveredIdsKeptMin === 0) session.store.syncMailRemovals(session.id)
}

/** Mail that no crash of ours can have left: it is kept, named, and not delivered. */
export function damagedMail(store: FileStore, state: State): string[] {
  const damaged = pendingIds(store, state).filter((id) => read(store, state.id, id) === undefined)
  return damaged.map((id) => store.mailPath(state.id, id))
}

function pendingIds(store: FileStore, state: State): string[] {
  const ids = store.mailIds(state.id)
  return ids.length === 0 ? ids : ids.filter((id) => !state.delivered.includes(id))
}

function readPending(store: FileStore, state: State): Message[] {
  return pendingIds(store, state)
    .map((id) => read(store, state.id, id))
    .filter((message) => message !== undefined)
}

function read(store: FileStore, agentId: string, messageId: string): Message | undefined {
  const bytes = store.readMail(agentId, messageId)
  const message = bytes === undefined ? undefined : decodeMessage(bytes, messageId)
  return message?.to === agentId ? message : undefined
}
