/** Reads the messages that are stored in an inbox. */
import type { Session } from '../session/session.js'
import type { State } from '../session/state.js'
import type { Store } from '../storage/store.js'
import { decodeMessage, type Message } from './message.js'

export type Recipient = Pick<State, 'id' | 'delivered'>

/** Longer content does not stay in memory: all pending mail may be 10 GiB. */
const CONTENT_KEPT_MAX = 4096

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

export function eachMessage(store: Store, state: State, ids = store.mail.ids(state.id)): Generator<Message> {
  return eachRead(pendingOf(state, ids), (id) => readMessage(store, state.id, id))
}

/** A message without its content, if that is long. */
export interface Header extends Omit<Message, 'content'> {
  size: number
  content: string | undefined
}

export type HeaderReader = (messageId: string) => Header | undefined

export function eachHeader(
  store: Store,
  state: State,
  ids = store.mail.ids(state.id),
  read: HeaderReader = (id) => headerOf(readMessage(store, state.id, id)),
): Generator<Header> {
  return eachRead(pendingOf(state, ids), read)
}

function* eachRead<T>(ids: string[], read: (id: string) => T | undefined): Generator<T> {
  for (const id of ids) {
    const message = read(id)
    if (message !== undefined) yield message
  }
}

/** The headers that a session has read. A stored message changes only under the agent's lock, which the session holds. */
const headersRead = new WeakMap<Session, Map<string, Header>>()

/** Reads each message once, and not again for each turn of the session. */
export function headerReaderOf(session: Session): HeaderReader {
  const headers = headersRead.get(session) ?? new Map<string, Header>()
  headersRead.set(session, headers)
  return (id) => {
    const known = headers.get(id)
    if (known !== undefined) return known
    const header = headerOf(readMessage(session.store, session.id, id))
    if (header !== undefined) headers.set(id, header)
    return header
  }
}

function headerOf(message: Message | undefined): Header | undefined {
  if (message === undefined) return undefined
  const size = message.content.length
  return size > CONTENT_KEPT_MAX ? { ...message, size, content: undefined } : { ...message, size }
}

/** Makes the next read of a message by this session read its file. Call it when the message was replaced. */
export function forgetRead(session: Session, messageId: string): void {
  headersRead.get(session)?.delete(messageId)
}

export function readMessage(store: Store, to: string, messageId: string): Message | undefined {
  const stored = store.mail.read(to, messageId)
  const message = stored === undefined ? undefined : decodeMessage(stored, messageId)
  return message?.to === to ? message : undefined
}
