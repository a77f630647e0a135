/** `inbox`: shows the pending messages of an agent or the operator, and removes those that the operator takes. */

import { readState } from '../dispatch/read-state.js'
import { SubstratError } from '../errors.js'
import { isUuid, OPERATOR } from '../format.js'
import {
  type DamagedMessage,
  damagedMail,
  damagedOperatorMail,
  listWaiting,
  unknownMail,
} from '../mail/inbox.js'
import type { Message } from '../mail/message.js'
import { sortForOperator } from '../mail/order.js'
import { messagesIn, type Recipient } from '../mail/stored-messages.js'
import { unknownMailError } from '../mail/unknown-mail.js'
import type { InboxView, MailView } from '../schema/output-overview.js'
import { withAgent } from '../session/load.js'
import { readText } from '../session/read.js'
import type { SessionRecord } from '../session/records.js'
import type { OpenedAgent, Store } from '../storage/store.js'
import { checkIsChild } from '../tree/relations.js'

export function viewInbox(store: Store | undefined, owner: string): InboxView {
  if (store === undefined) return { agent: owner, messages: [], damaged: [], unknown: [] }
  if (owner === OPERATOR) {
    const messages = sortForOperator(messagesIn(store, OPERATOR)).map(viewMail)
    return {
      agent: OPERATOR,
      messages,
      damaged: pathsOf(damagedOperatorMail(store)),
      unknown: unknownIn(store, undefined),
    }
  }
  const state = readState(store, owner)
  return {
    agent: owner,
    messages: listWaiting(store, state).map(viewMail),
    damaged: pathsOf(damagedMail(store, state)),
    unknown: unknownIn(store, state),
  }
}

/** Only the messages with these ids or unique beginnings of ids, in inbox order. Throws MESSAGE_NOT_FOUND for any other word. */
export function pick(inbox: InboxView, words: string[]): InboxView {
  const all = inbox.messages.map(({ message_id }) => message_id)
  const ids = words.map((word) => messageIdOf(all, word))
  return {
    ...inbox,
    messages: inbox.messages.filter(({ message_id }) => ids.includes(message_id)),
    damaged: [],
    unknown: [],
  }
}

/** The id that the word is, or that alone begins with it. Throws MESSAGE_NOT_FOUND. */
export function messageIdOf(ids: string[], word: string): string {
  const lower = word.toLowerCase()
  const found = PREFIX.test(lower) ? ids.filter((id) => id.startsWith(lower)) : []
  if (found.length === 1) return found[0] as string
  throw noMessage(word, found)
}

const PREFIX = /^[0-9a-f][0-9a-f-]{3,35}$/
/** How far back to look for a request that a message answers: an agent may have used thousands of tools since. */
const RECORDS_MAX = 2000

/** The requests that these messages answer, by id, as far as the end of their recipients' logs has them. */
export function requestsAnswered(store: Store, messages: MailView[]): Map<string, string> {
  const found = new Map<string, string>()
  for (const agentId of new Set(messages.map(({ from }) => from).filter(isUuid))) {
    const answers = messages.filter(({ from }) => from === agentId)
    const wanted = new Set(answers.flatMap(({ reply_to }) => reply_to ?? []))
    if (wanted.size > 0)
      withAgent(store, agentId, (_, { log }) => findRequests(store, agentId, log, wanted, found))
  }
  return found
}

function findRequests(
  store: Store,
  agentId: string,
  log: OpenedAgent['log'],
  wanted: Set<string>,
  found: Map<string, string>,
): void {
  let left = RECORDS_MAX
  for (const each of log.recordsFromEnd()) {
    if (wanted.size === 0 || left-- === 0) return
    const record = each.record as unknown as SessionRecord
    if (record.kind === 'mail.delivered' && wanted.delete(record.message_id))
      found.set(record.message_id, readText(store, agentId, record.content))
  }
}

/** Moves the messages aside. The ids stay known, so that a repeated post does not deliver them again. */
export function takeMessages(store: Store, messages: MailView[]): void {
  for (const { message_id } of messages) store.mail.take(message_id)
}

/** An agent may read its own inbox and those of its children; the operator may read any. Throws TREE_RULES. */
export function checkMayLook(store: Store, caller: string | null, owner: string): void {
  if (caller === null || owner === caller) return
  const from = readState(store, caller)
  if (owner !== OPERATOR) {
    checkIsChild(from, readState(store, owner), 'read the inbox of')
    return
  }
  throw new SubstratError('TREE_RULES', `${from.path} may not read the inbox of the operator`, {
    hint: 'read its own inbox: substrat inbox',
    facts: { agent_id: caller },
  })
}

/** `ids`: several ids that begin with the word. */
function noMessage(id: string, ids: string[] = []): SubstratError {
  const word = JSON.stringify(id.slice(0, 80))
  return new SubstratError(
    'MESSAGE_NOT_FOUND',
    ids.length === 0
      ? `no pending message has the id ${word}`
      : `${word} is the beginning of the ids of ${ids.length} messages: ${ids.slice(0, 5).join(', ')}`,
    {
      hint: 'list pending messages: substrat inbox',
      facts: { message_id: id.slice(0, 200) },
    },
  )
}

/** The failure of an inbox with files that are not shown. */
export function unreadableError({ damaged, unknown }: InboxView): SubstratError | undefined {
  if (damaged.length === 0) return unknownMailError(unknown)
  const [first] = damaged
  const files =
    damaged.length === 1
      ? `${first} is not a complete message`
      : `${damaged.length} files are not complete messages`
  return new SubstratError('CORRUPT', `${files}; nothing was delivered or removed`, {
    hint: 'inspect the file and move it away; the sender can send the message again',
    facts: { paths: damaged },
  })
}

function viewMail(message: Message): MailView {
  const { message_id, kind, from, from_path, reply_to, content, control, key } = message
  const { not_before, created_at, actor } = message
  const by = actor === undefined ? {} : { actor }
  const view = { message_id, kind, from, from_path, reply_to, content, control, key, not_before, created_at }
  return { ...view, ...by }
}

function pathsOf(damaged: DamagedMessage[]): string[] {
  return damaged.map(({ path }) => path)
}

function unknownIn(store: Store, to: Recipient | undefined): InboxView['unknown'] {
  return unknownMail(store, to).map(({ path, unknown }) => ({ path, unknown }))
}
