/**
 * Stores a message in the recipient's inbox, durably, before the sender receives an acknowledgement.
 *
 * On disk after a crash: perhaps a temp file; then the recipient's marker, with or without the message. Posting again
 * with the same id stores the message at most once: the id is in the inbox, in the recipient's log, or among the
 * messages that the operator took.
 */
import { clock } from '../clock.js'
import { SubstratError, shellWord } from '../errors.js'
import { isUuid, OPERATOR } from '../format.js'
import { limits } from '../limits.js'
import type { AskedOptions } from '../schema/message.js'
import { byActor } from '../session/actor.js'
import { digestOf } from '../session/ids.js'
import { type Loaded, openForRead, withAgent } from '../session/load.js'
import type { State } from '../session/state.js'
import { howEnded } from '../session/status.js'
import type { OpenedAgent, Store } from '../storage/store.js'
import type { Message } from './message.js'
import { messagesIn } from './stored-messages.js'

export type Draft = Pick<Message, 'message_id' | 'from' | 'from_path' | 'to' | 'kind' | 'content'> &
  Partial<Pick<Message, 'reply_to' | 'control' | 'not_before' | 'clock' | 'actor'>> &
  Omit<AskedOptions, 'digest'>

export interface PostOptions {
  /**
   * True if the message may have been posted before a crash. An id that the state has forgotten is then searched in the
   * log.
   */
  isRepeat?: boolean
  /** The recipient, if the caller has just read it. */
  recipient?: Recipient | undefined
  /** The state of the sender, if the caller knows it. */
  sender?: State
}

/**
 * Returns false if the message was posted before. Throws UNDELIVERABLE if the recipient does not exist or is
 * terminated, and QUEUE_FULL; then nothing is stored. Replies, errors and controls ignore the inbox limit.
 */
export function post(store: Store, draft: Draft, options: PostOptions = {}): boolean {
  const { to, message_id } = draft
  if (to === OPERATOR) return put(store, draft, placeForOperator(store, draft.from, options.sender))
  const before = options.recipient ?? (isUuid(to) ? withAgent(store, to, recipientOf) : undefined)
  // Check this first: the message may have been delivered before the recipient was terminated.
  if (before !== undefined && isKnown(store, before.state, message_id, options)) return false
  if (before === undefined || before.state.state === 'terminated') throw undeliverableError(store, draft)
  if (isBounded(draft)) checkRoom(before, message_id)
  const isNew = put(store, draft, placeAfter(store, before, draft.from))
  // `terminate` writes its record and then reads the inbox; this function stores the message and then reads the state.
  // So at least one of the two sees the other.
  if (isNew && isClosed(store, to) && takeBack(store, draft)) throw undeliverableError(store, draft)
  return isNew
}

/** Whether the move that closed the recipient has taken the message along. */
function wentAlong(store: Store, { to, message_id }: Draft): boolean {
  return openForRead(store, to)?.state.moved?.messages.includes(message_id) === true
}

/**
 * Removes the message, durably. False if the process that terminates the agent has it and answers it, or if the move that
 * closed the agent has taken it along.
 */
function takeBack(store: Store, draft: Draft): boolean {
  const { to, message_id } = draft
  if (wentAlong(store, draft)) return false
  if (!store.mail.remove(to, message_id)) return false
  store.mail.syncRemovals(to)
  // A copy that was posted before a crash may be among the messages to answer.
  return !store.mail.idsToReturn(to).includes(message_id)
}

export interface Recipient {
  state: State
  mailIds: string[]
}

/** The inbox is read at the same moment as the state. */
export function recipientOf({ state }: Loaded, { mailIds }: OpenedAgent): Recipient {
  return { state, mailIds }
}

/** The sender of a forged message may not be a UUID; an answer to it has no recipient. */
function agentOf(store: Store, to: string): State | undefined {
  return isUuid(to) ? openForRead(store, to)?.state : undefined
}

/** Whether no mail can be delivered to the recipient: it is terminated or does not exist. */
export function isClosed(store: Store, to: string): boolean {
  return to !== OPERATOR && (openForRead(store, to)?.state.state ?? 'terminated') === 'terminated'
}

function isKnown(store: Store, recipient: State, messageId: string, options: PostOptions): boolean {
  if (recipient.delivered.includes(messageId)) return true
  return (
    options.isRepeat === true && recipient.delivered_forgotten > 0 && isInLog(store, recipient, messageId)
  )
}

function isInLog(store: Store, { id, log_bytes }: State, messageId: string): boolean {
  const log = store.openLog(id)
  if (log === undefined) return false
  try {
    for (const record of log.recordsWith(`"message_id":"${messageId}"`, log_bytes))
      if (record.message_id === messageId) return true
    return false
  } finally {
    log.close()
  }
}

function put(store: Store, draft: Draft, sequence: number): boolean {
  const { to } = draft
  const message: Message = {
    reply_to: null,
    control: null,
    key: null,
    not_before: null,
    clock: null,
    turn_timeout_ms: null,
    ...(draft.from === OPERATOR ? byActor() : {}),
    ...draft,
    digest: digestOf(draft.content),
    created_at: new Date(clock.now()).toISOString(),
    sequence,
  }
  return store.mail.put(to, draft.message_id, message)
}

/** One more than the highest counter of the sender's pending messages. */
function placeAfter(store: Store, { state, mailIds }: Recipient, from: string): number {
  let highest = 0
  for (const pending of messagesIn(store, state.id, mailIds)) {
    if (pending.from === from) highest = Math.max(highest, pending.sequence)
  }
  // A forged message may have the largest counter; later ones then share it.
  return Math.min(highest + 1, Number.MAX_SAFE_INTEGER)
}

/**
 * The operator's inbox is unbounded, so it is not read for each message. The counter is the sender's last `seq`,
 * multiplied, plus the messages since then. A later process finds a larger `seq`, so the counter never decreases.
 */
function placeForOperator(store: Store, from: string, sender = agentOf(store, from)): number {
  const seq = sender?.last_seq ?? 0
  const latest = placesGiven.get(store) ?? new Map<string, number>()
  placesGiven.set(store, latest)
  const place = Math.max(seq * PLACES_PER_RECORD, (latest.get(from) ?? -1) + 1)
  latest.set(from, place)
  return place
}

/** More than an agent sends to the operator between two of its own records. */
const PLACES_PER_RECORD = 1024
const placesGiven = new WeakMap<Store, Map<string, number>>()

function isBounded({ kind }: Draft): boolean {
  return kind === 'request' || kind === 'notification'
}

/** A message that is already stored needs no further room. */
function checkRoom({ state: recipient, mailIds }: Recipient, messageId: string): void {
  const waiting = mailIds.length
  if (waiting < limits.inboxMessagesMax || mailIds.includes(messageId)) return
  throw new SubstratError('QUEUE_FULL', `agent ${recipient.path} already has ${waiting} pending messages`, {
    hint: `deliver them: substrat deliver ${shellWord(recipient.path)}`,
    facts: { agent_id: recipient.id, pending: waiting },
  })
}

function undeliverableError(store: Store, { to }: Draft): SubstratError {
  const state = agentOf(store, to)
  const why =
    state === undefined
      ? `there is no agent ${to}`
      : `${state.path} ${howEnded(state)} and takes no messages or commands`
  return new SubstratError('UNDELIVERABLE', why, {
    hint: 'list all agents: substrat list --all',
    facts: { agent_id: to },
  })
}
