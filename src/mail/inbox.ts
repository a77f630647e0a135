/**
 * The inbox of an agent: the messages that are pending.
 *
 * Invariants: a message is whole and synced before its sender is told so. It is delivered when its record is in the
 * recipient's log, and by nothing else. Its file is removed after that and may come back in a power cut, so an id that the
 * log has is never delivered again (row K).
 */
import { OPERATOR } from '../format.js'
import { type ClockReading, readClock } from '../host/identity.js'
import { limits } from '../limits.js'
import { isOver, isSetBack, rebasedEnd } from '../session/durations.js'
import { forgetsDelivered } from '../session/fold/mail.js'
import type { NewRecord } from '../session/records.js'
import type { Session } from '../session/session.js'
import type { State } from '../session/state.js'
import type { FileStore } from '../storage/store.js'
import { type Delivery, decodeMessage, type Message } from './message.js'
import { dueReminders, isRinging } from './reminders.js'

type Recipient = Pick<State, 'id' | 'delivered'>

/** How many messages wait for the agent. */
export function countPending(store: FileStore, state: Recipient): number {
  return pendingIds(store, state).length
}

/** False where nothing waits for the agent, and its inbox need not be looked into. */
export type MailIndex = (agentId: string) => boolean

/**
 * For who looks at many agents: a message that is stored, acknowledged or not, has a marker of its agent until it is
 * delivered. After a start of the kernel nobody knows before each agent was looked at once. To be asked behind the list of agents.
 */
export function mailIndexOf(store: FileStore): MailIndex {
  if (!store.boots.isScanned()) return () => true
  const marked = new Set(store.markedIds())
  return (agentId) => marked.has(agentId)
}

/** What is known of a message while it is chosen. Its content is read again then: all that waits together may be 10 GiB. */
interface Due extends Pick<Message, 'message_id' | 'from' | 'kind' | 'key' | 'sequence'> {
  size: number
  read(): Delivery | undefined
}

/** What is delivered together in the next turn: one that has it alone, or what asks for no reply; empty where nothing is due. */
export function nextMail(session: Session): Delivery[] {
  const now = readClock()
  const mails = dueMails(session, now)
  const request = requestInTurn(session.state, mails)
  if (request !== undefined) return readAll([request])
  const [first, ...others] = [...dueReminders(session, now).map(asDue), ...mails]
  if (first === undefined || hasTurnAlone(first)) return first === undefined ? [] : readAll([first])
  const taken: Due[] = [first]
  // Mail is first-in-first-out per sender: behind one that has its turn alone nothing of a sender is taken.
  const held = new Set<string>()
  let bytes = first.size
  for (const message of others) {
    if (hasTurnAlone(message)) held.add(message.from)
    if (held.has(message.from)) continue
    bytes += message.size
    if (taken.length === limits.mailsTakenMax || bytes > limits.mailsTakenBytesMax) break
    taken.push(message)
  }
  return readAll(taken)
}

/** What became of a key is what became of its turn. */
function hasTurnAlone({ kind, key }: Due): boolean {
  return kind === 'request' || key !== null
}

/** After a turn that answered no request one has its turn: a reminder that is always due, or a flood, keeps none from it. */
function requestInTurn({ run }: State, mails: Due[]): Due | undefined {
  if (run === null || run.requests.length > 0) return undefined
  const before = new Set<string>()
  for (const message of mails) {
    if (message.kind === 'request' && !before.has(message.from)) return message
    before.add(message.from)
  }
  return undefined
}

function dueMails({ store, state }: Session, now: ClockReading): Due[] {
  const due: Due[] = []
  for (const message of eachPending(store, state)) {
    if (!isDue(message, now)) {
      rebaseDelay(store, message, now)
      continue
    }
    const { message_id, from, kind, key, sequence, content } = message
    const read = (): Delivery | undefined => readMessage(store, state.id, message_id)
    due.push({ message_id, from, kind, key, sequence, size: content.length, read })
  }
  return due.sort(inOrder)
}

function asDue(reminder: Delivery): Due {
  const { message_id, from, kind, key, sequence, content } = reminder
  return { message_id, from, kind, key, sequence, size: content.length, read: () => reminder }
}

function readAll(chosen: Due[]): Delivery[] {
  return chosen.map(({ read }) => read()).filter((message) => message !== undefined)
}

/** Whether a message could be delivered now. Reads no more than it must. */
export function hasDueMail(store: FileStore, state: State): boolean {
  const now = readClock()
  if (state.reminders.some((reminder) => isRinging(reminder, now))) return true
  for (const message of eachMessage(store, state)) if (isDue(message, now)) return true
  return false
}

/** Whether something is asked of the agent that needs no turn. */
export function hasControls(store: FileStore, state: State): boolean {
  for (const { kind } of eachMessage(store, state)) if (kind === 'control') return true
  return false
}

/** When the next of what waits for its time is due; null where nothing does. */
export function nextDueAt(store: FileStore, state: State): string | null {
  const mails = [...eachMessage(store, state)].map(({ not_before }) => not_before)
  const times = [...mails, ...state.reminders.map(({ due_at }) => due_at)].filter((time) => time !== null)
  return times.sort()[0] ?? null
}

/**
 * What was asked of the agent that needs no turn, as records, oldest first; with `removeDelivered` afterwards. Not more than
 * the state remembers the ids of: what is left comes with the next call.
 */
export function controlRecords(session: Session): NewRecord[] {
  const controls: Message[] = []
  for (const message of eachMessage(session.store, session.state))
    if (message.kind === 'control') controls.push(message)
  return controls.sort(inOrder).slice(0, limits.mailsTakenMax).map(controlRecord)
}

/** A pending message, as it was stored. */
export function findPending(store: FileStore, recipient: State, messageId: string): Message | undefined {
  return pendingIds(store, recipient).includes(messageId)
    ? readMessage(store, recipient.id, messageId)
    : undefined
}

/** What waits, in the order of its delivery; also what waits for its time. Takes nothing. */
export function listPending(store: FileStore, state: State): Message[] {
  return [...eachPending(store, state)].sort(inOrder)
}

/** Row K: removes the files of mail that the log has. */
export function removeDelivered(session: Session): void {
  for (const id of session.store.mail.ids(session.id)) {
    if (session.state.delivered.includes(id)) session.store.mail.remove(session.id, id)
  }
}

/** Called before so many ids are added: others are forgotten only when their files can no longer come back. */
export function syncBeforeForgetting(session: Session, count: number): void {
  if (!forgetsDelivered(session.state, count)) return
  removeDelivered(session)
  session.store.mail.syncRemovals(session.id)
}

/** Mail that no crash of ours can have left: it is kept, named, and not delivered. */
export function damagedMail(store: FileStore, state: State): string[] {
  return damagedIn(store, state.id, pendingIds(store, state))
}

/** The same of the operator's inbox. */
export function damagedOperatorMail(store: FileStore): string[] {
  return damagedIn(store, OPERATOR, store.mail.ids(OPERATOR))
}

/** All that waits, also what is obeyed and never shown to a model; in the order of its delivery. Takes nothing. */
export function listWaiting(store: FileStore, state: State): Message[] {
  return [...eachMessage(store, state)].sort(inOrder)
}

/** Every message in an inbox that can be read, whatever its recipient's log says. One at a time: together they are large. */
export function* messagesIn(store: FileStore, to: string): Generator<Message> {
  for (const id of store.mail.ids(to)) {
    const message = readMessage(store, to, id)
    if (message !== undefined) yield message
  }
}

type InOrder = Pick<Message, 'message_id' | 'sequence'>

/** By the counter of its sender; among senders as it comes. */
function inOrder(a: InOrder, b: InOrder): number {
  return a.sequence - b.sequence || (a.message_id < b.message_id ? -1 : 1)
}

/**
 * The operator's, of each sender by its counter; among senders by when they say that they sent. What was sent before there
 * was that counter has a time in its place, and comes first.
 */
export function sortForOperator(messages: Iterable<Message>): Message[] {
  const latest = new Map<string, string>()
  return [...messages]
    .sort((a, b) => Number(isTimed(b)) - Number(isTimed(a)) || inOrder(a, b))
    .map((message) => {
      const { from, created_at } = message
      const before = latest.get(from) ?? ''
      // A clock that was set back takes no message before an earlier one of its sender.
      const at = created_at > before ? created_at : before
      latest.set(from, at)
      return { message, at }
    })
    .sort((a, b) => (a.at < b.at ? -1 : Number(a.at > b.at)))
    .map(({ message }) => message)
}

/** No log has as many records. */
const EARLIEST_TIMED_PLACE = Date.parse('2020-01-01T00:00:00Z')

function isTimed({ sequence }: Message): boolean {
  return sequence >= EARLIEST_TIMED_PLACE
}

function damagedIn(store: FileStore, to: string, ids: string[]): string[] {
  const damaged = ids.filter(
    (id) => store.mail.read(to, id) !== undefined && readMessage(store, to, id) === undefined,
  )
  return damaged.map((id) => store.mail.pathOf(to, id))
}

function pendingIds(store: FileStore, state: Recipient): string[] {
  const ids = store.mail.ids(state.id)
  return ids.length === 0 ? ids : ids.filter((id) => !state.delivered.includes(id))
}

function* eachMessage(store: FileStore, state: State): Generator<Message> {
  for (const id of pendingIds(store, state)) {
    const message = readMessage(store, state.id, id)
    if (message !== undefined) yield message
  }
}

/** For a model, that is: no controls. */
function* eachPending(store: FileStore, state: State): Generator<Message> {
  for (const message of eachMessage(store, state)) if (message.kind !== 'control') yield message
}

function isDue({ not_before, clock }: Message, now: ClockReading): boolean {
  return not_before === null || isOver(not_before, clock, now)
}

/** What is left of a delay is counted anew where the clock was set back since: dying here leaves the old message or the new. */
function rebaseDelay(store: FileStore, message: Message, now: ClockReading): void {
  const { to, message_id, not_before, clock } = message
  if (not_before === null || clock === null || !isSetBack(clock, now)) return
  const rebased = { ...message, not_before: rebasedEnd(not_before, clock, now), clock: now }
  store.mail.replace(to, message_id, rebased)
}

function controlRecord({ message_id, from, control }: Message): NewRecord {
  switch (control?.verb) {
    case 'gate':
      return { kind: 'agent.gated', message_id, from }
    case 'ungate':
      return { kind: 'agent.ungated', message_id, from }
    case 'permit':
      return { kind: 'agent.permitted', message_id, from }
    case 'watch':
      return { kind: 'agent.watched', message_id, from, on: control.on, once: control.once }
    case 'unwatch':
      return { kind: 'agent.unwatched', message_id, from }
    default:
      return { kind: 'agent.poked', message_id, from }
  }
}

function readMessage(store: FileStore, to: string, messageId: string): Message | undefined {
  const stored = store.mail.read(to, messageId)
  const message = stored === undefined ? undefined : decodeMessage(stored, messageId)
  return message?.to === to ? message : undefined
}
