/** Reads the messages that are stored in an inbox. */
import type { Session } from '../session/session.js'
import type { State } from '../session/state.js'
import type { Store } from '../storage/store.js'
import { decodeMessage, type Message } from './message.js'

export type Recipient = Pick<State, 'id' | 'delivered'>

/** Content up to this length stays in memory for the choice of messages. */
export const CONTENT_KEPT_MAX = 4096

/** Every intact message file of an inbox, delivered ones included. A generator, because together they may be large. */
export function* messagesIn(store: Store, to: string, ids = store.mail.ids(to)): Generator<Message> {
  for (const id of ids) {
    const message = readMessage(store, to, id)
    if (message !== undefined) yield message
  }
}

export function pendingOf(state: Recipient, ids: string[]): string[] {
  return ids.length === 0 ? ids : ids.filter((id) => !state.delivered.includes(id))
}

export type MessageReader = (messageId: string) => Message | undefined

export function* eachMessage(
  store: Store,
  state: State,
  ids = store.mail.ids(state.id),
  read: MessageReader = (id) => readMessage(store, state.id, id),
): Generator<Message> {
  for (const id of pendingOf(state, ids)) {
    const message = read(id)
    if (message !== undefined) yield message
  }
}

/** The short messages that a session has read. A stored message changes only under the agent's lock, which the session holds. */
const messagesRead = new WeakMap<Session, Map<string, Message>>()

/** Reads each short message once, and not again for each turn of the session. */
export function readerOf(session: Session): MessageReader {
  const messages = messagesRead.get(session) ?? new Map<string, Message>()
  messagesRead.set(session, messages)
  return (id) => {
    const known = messages.get(id)
    if (known !== undefined) return known
    const message = readMessage(session.store, session.id, id)
    if (message !== undefined && message.content.length <= CONTENT_KEPT_MAX) messages.set(id, message)
    return message
  }
}

/** Makes the next read of a message by this session read its file. Call it when the message was replaced. */
export function forgetRead(session: Session, messageId: string): void {
  messagesRead.get(session)?.delete(messageId)
}

export function readMessage(store: Store, to: string, messageId: string): Message | undefined {
  const stored = store.mail.read(to, messageId)
  const message = stored === undefined ? undefined : decodeMessage(stored, messageId)
  return message?.to === to ? message : undefined
}
