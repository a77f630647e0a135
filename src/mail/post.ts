/**
 * A message on its way: stored in the inbox of its recipient before its sender is told so.
 *
 * What is on disk if we die: a temp or not; then the recipient's marker, and the message or not. Sending it again, by the same id, stores it
 * once: the inbox has it, or the log, or the operator took it.
 */
import { clock } from '../clock.js'
import { SubstratError, shellWord } from '../errors.js'
import { isUuid, OPERATOR } from '../format.js'
import { limits } from '../limits.js'
import { digestOf } from '../session/ids.js'
import { openForRead } from '../session/load.js'
import type { State } from '../session/state.js'
import type { FileStore } from '../storage/store.js'
import { messagesIn } from './inbox.js'
import type { Message } from './message.js'

export type Draft = Pick<Message, 'message_id' | 'from' | 'from_path' | 'to' | 'kind' | 'content'> &
  Partial<Pick<Message, 'reply_to' | 'control' | 'key' | 'not_before' | 'clock' | 'turn_timeout_ms'>>

export interface PostOptions {
  /** Whether it may have been sent before a crash: then an id that the recipient has forgotten is looked for in its log. */
  isRepeat?: boolean
}

/**
 * False where it was sent before. Throws UNDELIVERABLE where there is no recipient, or that is terminated, and QUEUE_FULL;
 * then nothing is stored. Replies, errors and controls ignore the bound.
 */
export function post(store: FileStore, draft: Draft, options: PostOptions = {}): boolean {
  const { to, message_id } = draft
  if (to === OPERATOR) return put(store, draft)
  const before = agentOf(store, to)
  // First: it may have been taken, and its recipient terminated since.
  if (before !== undefined && isKnown(store, before, message_id, options)) return false
  if (before === undefined || before.state === 'terminated') throw undeliverableError(store, draft)
  if (isBounded(draft)) checkRoom(store, before, message_id)
  store.syncNameOf(to)
  // While it is being stored and after: see `FileStore.unmark`.
  const isNew = put(store, draft, () => store.mark(to))
  store.mark(to)
  // Whoever terminates looks at the inbox after its record is there: one of us two sees the other.
  if (isNew && isClosed(store, to) && takeBack(store, draft)) throw undeliverableError(store, draft)
  return isNew
}

/** On disk when it returns. False where whoever terminates has it, and answers it. */
function takeBack(store: FileStore, { to, message_id }: Draft): boolean {
  if (!store.mail.remove(to, message_id)) return false
  store.mail.syncRemovals(to)
  // It was sent before a crash, too.
  return !store.mail.idsToReturn(to).includes(message_id)
}

/** An answer to a forged message may be for what is no id at all. */
function agentOf(store: FileStore, to: string): State | undefined {
  return isUuid(to) && store.hasAgent(to) ? openForRead(store, to)?.state : undefined
}

/** Whether mail to it can be delivered at all. */
export function isClosed(store: FileStore, to: string): boolean {
  return to !== OPERATOR && (openForRead(store, to)?.state.state ?? 'terminated') === 'terminated'
}

function isKnown(store: FileStore, recipient: State, messageId: string, options: PostOptions): boolean {
  if (recipient.delivered.includes(messageId)) return true
  return (
    options.isRepeat === true && recipient.delivered_forgotten > 0 && isInLog(store, recipient, messageId)
  )
}

function isInLog(store: FileStore, { id, log_bytes }: State, messageId: string): boolean {
  const log = store.logs.openForRead(id)
  if (log === undefined) return false
  try {
    for (const record of log.recordsWith(`"message_id":"${messageId}"`, log_bytes))
      if (record.message_id === messageId) return true
    return false
  } finally {
    log.close()
  }
}

function put(store: FileStore, draft: Draft, beforeLink?: () => void): boolean {
  const { to } = draft
  const message: Message = {
    reply_to: null,
    control: null,
    key: null,
    not_before: null,
    clock: null,
    turn_timeout_ms: null,
    ...draft,
    digest: digestOf(draft.content),
    created_at: new Date(clock.now()).toISOString(),
    sequence: placeOf(store, draft),
  }
  return store.mail.put(to, draft.message_id, message, beforeLink)
}

/** Behind what its sender has there. */
function placeOf(store: FileStore, { to, from }: Draft): number {
  if (to === OPERATOR) return placeForOperator(store, from)
  let highest = 0
  for (const pending of messagesIn(store, to)) {
    if (pending.from === from) highest = Math.max(highest, pending.sequence)
  }
  // A forged message may have the last place there is: then those behind it share it.
  return Math.min(highest + 1, Number.MAX_SAFE_INTEGER)
}

/**
 * The operator's inbox has no bound: to read all of it for each message would take ever longer. The counter of a sender is
 * how far its log has come, which its next process finds further on, and the number of the message from there.
 */
function placeForOperator(store: FileStore, from: string): number {
  const seq = agentOf(store, from)?.last_seq ?? 0
  const latest = placesGiven.get(store) ?? new Map<string, number>()
  placesGiven.set(store, latest)
  const place = Math.max(seq * PLACES_PER_RECORD, (latest.get(from) ?? -1) + 1)
  latest.set(from, place)
  return place
}

/** More than one agent has to send to the operator between two records of its own. */
const PLACES_PER_RECORD = 1024
const placesGiven = new WeakMap<FileStore, Map<string, number>>()

function isBounded({ kind }: Draft): boolean {
  return kind === 'request' || kind === 'notification'
}

/** What is stored already has its room. */
function checkRoom(store: FileStore, recipient: State, messageId: string): void {
  const ids = store.mail.ids(recipient.id)
  const waiting = ids.length
  if (waiting < limits.inboxMessagesMax || ids.includes(messageId)) return
  throw new SubstratError('QUEUE_FULL', `${waiting} messages wait for agent ${recipient.path} already`, {
    hint: `let it take them: substrat deliver ${shellWord(recipient.path)}`,
    facts: { agent_id: recipient.id, pending: waiting },
  })
}

function undeliverableError(store: FileStore, { to }: Draft): SubstratError {
  const state = agentOf(store, to)
  const [who, why] =
    state === undefined
      ? [to, 'there is no such agent']
      : [state.path, 'it is terminated: it takes no more messages']
  return new SubstratError('UNDELIVERABLE', `nothing was sent to ${who}: ${why}`, {
    hint: 'see which agents there are: substrat list --all',
    facts: { agent_id: to },
  })
}
