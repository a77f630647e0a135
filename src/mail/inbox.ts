/**
 * The inbox of an agent: the messages that are pending.
 *
 * Invariants: a message is complete and synced before its sender receives an acknowledgement. A message is delivered
 * exactly when its record is in the recipient's log. Its file is removed after that, and a power cut may restore it, so
 * an id in the log is never delivered again (row K).
 */
import { clock } from '../clock.js'
import { OPERATOR } from '../format.js'
import { limits } from '../limits.js'
import { hasDueSlot, nextDueTime } from '../schedule/due.js'
import { forgetsDelivered } from '../session/fold/mail.js'
import type { NewRecord } from '../session/records.js'
import type { Session } from '../session/session.js'
import type { State } from '../session/state.js'
import type { Store } from '../storage/store.js'
import { asDue, clockOfLook, type Due, isDue, type Now, rebaseDelay, withContent } from './due.js'
import { type Delivery, type Message, unknownInMessage } from './message.js'
import { inOrder } from './order.js'
import { dueReminders, isRinging } from './reminders.js'
import { nextDueSlot } from './schedules.js'
import {
  eachHeader,
  eachMessage,
  type Header,
  type HeaderReader,
  headerReaderOf,
  pendingOf,
  type Recipient,
  readMessage,
} from './stored-messages.js'

export function countPending(store: Store, state: Recipient, ids = store.mail.ids(state.id)): number {
  return pendingOf(state, ids).length
}

/** False: the agent has no pending message, so its inbox need not be read. */
export type MailIndex = (agentId: string) => boolean

/**
 * Saves reading every inbox when a command shows many agents. A stored message keeps its agent marked until delivery.
 * Markers are not synced, so after a boot they prove nothing until every agent was visited once. Call this after the
 * list of agents is read, so that a message to a listed agent is not missed.
 */
export function mailIndexOf(store: Store): MailIndex {
  if (!store.visits.isComplete) return () => true
  const marked = new Set(store.visits.markedIds())
  return (agentId) => marked.has(agentId)
}

/**
 * The messages of the next turn: one that has a turn alone, or several that need no reply. Empty if none is
 * due. `among`: chooses only from messages with these ids.
 */
export function nextMail(session: Session, among?: ReadonlySet<string>): Delivery[] {
  const now = clockOfLook()
  const all = dueMails(session, now)
  const mails = among === undefined ? all : all.filter(({ message_id }) => among.has(message_id))
  const request = requestInTurn(session.state, mails)
  if (request !== undefined) return readAll([request])
  const reminders = among === undefined ? dueReminders(session, now) : []
  const slot = among === undefined && session.state.schedules !== undefined ? nextDueSlot(session) : undefined
  const own = [...(slot === undefined ? [] : [slot]), ...reminders].map((mail) => asDue(mail, () => mail))
  const [first, ...others] = [...own, ...mails]
  if (first === undefined || first.isAlone) return first === undefined ? [] : readAll([first])
  const taken: Due[] = [first]
  // Mail is first-in-first-out per sender: no message is taken after one of its sender that needs a turn of its own.
  const held = new Set<string>()
  let bytes = first.size
  for (const message of others) {
    if (message.isAlone) held.add(message.from)
    if (held.has(message.from)) continue
    bytes += message.size
    if (taken.length === limits.mailsTakenMax || bytes > limits.mailsTakenBytesMax) break
    taken.push(message)
  }
  return readAll(taken)
}

/**
 * After a turn without a request, a request comes first. A reminder that is always due, or a flood, cannot starve
 * requests.
 */
function requestInTurn({ run }: State, mails: Due[]): Due | undefined {
  if (run === null || run.requests.length > 0) return undefined
  const before = new Set<string>()
  for (const message of mails) {
    if (message.kind === 'request' && !before.has(message.from)) return message
    before.add(message.from)
  }
  return undefined
}

/** The due messages of one sender, in order. Reads no file that the visit has read before. */
export function dueMailFrom(session: Session, from: string): Due[] {
  return session.mailIds.length === 0
    ? []
    : dueMails(session, clockOfLook()).filter((mail) => mail.from === from)
}

function dueMails(session: Session, now: Now): Due[] {
  const { store, state, mailIds } = session
  const due: Due[] = []
  for (const header of eachHeader(store, state, mailIds, headerReaderOf(session))) {
    if (header.kind === 'control') continue
    if (!isDue(header, now)) {
      rebaseDelay(session, header, now)
      continue
    }
    due.push(asDue(header, () => withContent(store, header)))
  }
  return due.sort(inOrder)
}

function readAll(chosen: Due[]): Delivery[] {
  return chosen.map(({ read }) => read()).filter((message) => message !== undefined)
}

/** Whether a message could be delivered now. Stops reading at the first one. */
export function hasDueMail(
  store: Store,
  state: State,
  ids = store.mail.ids(state.id),
  read?: HeaderReader,
): boolean {
  const now = clockOfLook()
  if (state.reminders.some((reminder) => isRinging(reminder, now()))) return true
  if (state.schedules !== undefined && hasDueSlot(state, now().at)) return true
  for (const header of eachHeader(store, state, ids, read)) if (isDue(header, now)) return true
  return false
}

/** The same for a session, of the messages that its inbox had when it was last read. */
export function hasMoreMail(session: Session): boolean {
  return hasDueMail(session.store, session.state, session.mailIds, headerReaderOf(session))
}

export function hasControls(store: Store, state: State, ids = store.mail.ids(state.id)): boolean {
  for (const { kind } of eachMessage(store, state, ids)) if (kind === 'control') return true
  return false
}

/** The earliest due time of delayed messages, reminders and slots; null if there are none. */
export function nextDueAt(store: Store, state: State): string | null {
  const mails = [...eachMessage(store, state)].map(({ not_before }) => not_before)
  const slots = (state.schedules ?? []).map(nextDueTime)
  const times = [...mails, ...slots, ...state.reminders.map(({ due_at }) => due_at)].filter(
    (time) => time !== null,
  )
  return times.sort()[0] ?? null
}

/**
 * The pending controls as records, oldest first. The caller appends them, then calls `removeDelivered`. One call
 * returns at most as many as the state can remember ids; the next call returns the rest.
 */
export function controlRecords(session: Session): NewRecord[] {
  const { store, state, mailIds } = session
  const known = notControls.get(session) ?? new Set()
  notControls.set(session, known)
  const controls: Header[] = []
  const ids = mailIds.filter((id) => !known.has(id))
  for (const message of eachHeader(store, state, ids, headerReaderOf(session))) {
    if (message.kind === 'control') controls.push(message)
    else known.add(message.message_id)
  }
  return controls.sort(inOrder).slice(0, limits.mailsTakenMax).map(controlRecord)
}

/** The messages that a session has read and that are not controls. A stored message does not change its kind. */
const notControls = new WeakMap<Session, Set<string>>()

/** A pending message, as it was stored. */
export function findPending(store: Store, recipient: State, messageId: string): Message | undefined {
  return pendingIds(store, recipient).includes(messageId)
    ? readMessage(store, recipient.id, messageId)
    : undefined
}

/** Pending messages for a model, delayed ones included, in delivery order. Removes nothing. */
export function listPending(store: Store, state: State): Message[] {
  return [...eachPending(store, state)].sort(inOrder)
}

/** Row K: removes the files of messages that are in the log. */
export function removeDelivered(session: Session): void {
  for (const id of session.mailIds) {
    if (session.state.delivered.includes(id)) session.removeMail(id)
  }
}

/**
 * Call before `count` ids are added. The oldest ids may be forgotten only after the removal of their files is synced.
 */
export function syncBeforeForgetting(session: Session, count: number): void {
  if (!forgetsDelivered(session.state, count)) return
  // A tool may have taken its reply from the inbox since the last look.
  session.forgetMailIds()
  removeDelivered(session)
  session.store.mail.syncRemovals(session.id)
}

export interface DamagedMessage {
  messageId: string
  /** For a person. */
  path: string
}

/** A message that a later version has written. Only that version may deliver it, return it or move it away. */
export interface UnknownMessage extends DamagedMessage {
  /** Its word that this version does not know. */
  unknown: string
}

/**
 * The damaged messages, which no crash of substrat can leave. They are reported, and neither delivered nor
 * removed.
 */
export function damagedMail(store: Store, state: State, ids = store.mail.ids(state.id)): DamagedMessage[] {
  return damagedIn(unreadableIn(store, state.id, pendingOf(state, ids)))
}

/** The same for the operator's inbox. */
export function damagedOperatorMail(store: Store): DamagedMessage[] {
  return damagedIn(unreadableIn(store, OPERATOR, store.mail.ids(OPERATOR)))
}

/** The messages of a later version in the inbox of an agent, or of the operator. */
export function unknownMail(store: Store, to: Recipient | undefined): UnknownMessage[] {
  const ids = store.mail.ids(to?.id ?? OPERATOR)
  return unknownIn(unreadableIn(store, to?.id ?? OPERATOR, to === undefined ? ids : pendingOf(to, ids)))
}

/** The same for a session. Reads only the messages that it could not read before. */
export function unknownMailOf(session: Session): UnknownMessage[] {
  const { store, state, mailIds } = session
  const read = headerReaderOf(session)
  const ids = pendingOf(state, mailIds).filter((id) => read(id) === undefined)
  return unknownIn(unreadableIn(store, state.id, ids))
}

/** All pending messages, controls included, in delivery order. Removes nothing. */
export function listWaiting(store: Store, state: State): Message[] {
  return [...eachMessage(store, state)].sort(inOrder)
}

/** A message that the command stores later. */
export interface SentMessage {
  message_id: string
  not_before?: string | null
}

/** Whether the agent has pending messages, and none of them may be delivered yet. `sent`: one that is stored after this. */
export function hasOnlyLaterMail(store: Store, state: Recipient, ids: string[], sent?: SentMessage): boolean {
  const now = new Date(clock.now()).toISOString()
  const pending = pendingOf(state, ids)
  const at = (id: string): string =>
    (id === sent?.message_id ? sent : readMessage(store, state.id, id))?.not_before ?? ''
  return pending.length > 0 && pending.every((id) => at(id) > now)
}

type Unreadable = DamagedMessage & { unknown: string | undefined }

function unreadableIn(store: Store, to: string, ids: string[]): Unreadable[] {
  return ids.flatMap((messageId) => {
    const line = store.mail.read(to, messageId)
    if (line === undefined || readMessage(store, to, messageId) !== undefined) return []
    const path = store.label({ kind: 'message', to, messageId })
    return [{ messageId, path, unknown: unknownInMessage(line, messageId) }]
  })
}

function damagedIn(unreadable: Unreadable[]): DamagedMessage[] {
  return unreadable.filter(({ unknown }) => unknown === undefined)
}

function unknownIn(unreadable: Unreadable[]): UnknownMessage[] {
  return unreadable.filter((message): message is UnknownMessage => message.unknown !== undefined)
}

function pendingIds(store: Store, state: Recipient): string[] {
  return pendingOf(state, store.mail.ids(state.id))
}

/** Without controls, which no model sees. */
function* eachPending(store: Store, state: State): Generator<Message> {
  for (const message of eachMessage(store, state)) if (message.kind !== 'control') yield message
}

function controlRecord({ message_id, from, control, actor }: Header): NewRecord {
  const by = actor === undefined ? {} : { actor }
  switch (control?.verb) {
    case 'gate':
      return { kind: 'agent.gated', message_id, from, ...by }
    case 'ungate':
      return { kind: 'agent.ungated', message_id, from, ...by }
    case 'permit':
      return { kind: 'agent.permitted', message_id, from, ...by }
    case 'watch':
      return { kind: 'agent.watched', message_id, from, on: control.on, once: control.once }
    case 'unwatch':
      return { kind: 'agent.unwatched', message_id, from }
    case 'outbound':
      return { ...control.result, message_id }
    default:
      return { kind: 'agent.poked', message_id, from, ...by }
  }
}
