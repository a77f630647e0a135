/**
 * The inbox of an agent: what waits for a turn of its own.
 *
 * Invariants: a message is stored whole and synced before its sender is told so. It is delivered when its record is in
 * the recipient's log, and by nothing else; the file is removed afterwards, and may come back in a power cut, so an id
 * that the log has is never delivered again (row K).
 */
import { SubstratError } from '../errors.js'
import { limits } from '../limits.js'
import { forgetsDelivered } from '../session/fold.js'
import type { Session } from '../session/session.js'
import type { State } from '../session/state.js'
import type { FileStore } from '../storage/store.js'
import { decodeMessage, encodeMessage, type Message } from './message.js'

/** How many messages wait for the agent. */
export function countPending(store: FileStore, state: State): number {
  return pendingIds(store, state).length
}

/**
 * Stores a message for later. Returns false where one of that id is stored, or was delivered, already. The marker is set
 * before and after: see `FileStore.unmark`.
 */
export function post(store: FileStore, recipient: State, message: Omit<Message, 'sequence'>): boolean {
  if (recipient.delivered.includes(message.message_id)) return false
  const ids = pendingIds(store, recipient)
  if (ids.length >= limits.inboxMessagesMax && !ids.includes(message.message_id))
    throw full(recipient, ids.length)
  let highest = 0
  for (const pending of eachPending(store, recipient)) {
    if (pending.from === message.from) highest = Math.max(highest, pending.sequence)
  }
  store.syncNameOf(recipient.id)
  store.mark(recipient.id)
  const bytes = encodeMessage({ ...message, sequence: highest + 1 })
  const isNew = store.putMail(recipient.id, message.message_id, bytes)
  store.mark(recipient.id)
  return isNew
}

/** The message that is to be delivered next; undefined where none can be. */
export function nextMessage(session: Session): Message | undefined {
  let first: Message | undefined
  for (const message of eachPending(session.store, session.state)) {
    if (first === undefined || isBefore(message, first)) first = message
  }
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

/** Called before each delivery: ids are forgotten only when their files can no longer come back. */
export function syncBeforeForgetting(session: Session): void {
  if (forgetsDelivered(session.state)) session.store.syncMailRemovals(session.id)
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

/** One at a time: a full inbox of large messages is more than fits in memory. */
function* eachPending(store: FileStore, state: State): Generator<Message> {
  for (const id of pendingIds(store, state)) {
    const message = read(store, state.id, id)
    if (message !== undefined) yield message
  }
}

function isBefore(a: Message, b: Message): boolean {
  return a.sequence < b.sequence || (a.sequence === b.sequence && a.message_id < b.message_id)
}

function full(recipient: State, pending: number): SubstratError {
  return new SubstratError('QUEUE_FULL', `${pending} messages wait for agent ${recipient.id} already`, {
    hint: `let it take them: substrat resume ${recipient.id}`,
    facts: { agent_id: recipient.id, pending },
  })
}

function read(store: FileStore, agentId: string, messageId: string): Message | undefined {
  const bytes = store.readMail(agentId, messageId)
  const message = bytes === undefined ? undefined : decodeMessage(bytes, messageId)
  return message?.to === agentId ? message : undefined
}
