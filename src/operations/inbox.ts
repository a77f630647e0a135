/** `inbox`: shows the pending messages of an agent or the operator, and removes those that the operator takes. */

import { readState } from '../dispatch/read-state.js'
import { SubstratError } from '../errors.js'
import { OPERATOR } from '../format.js'
import { type DamagedMessage, damagedMail, damagedOperatorMail, listWaiting } from '../mail/inbox.js'
import type { Message } from '../mail/message.js'
import { sortForOperator } from '../mail/order.js'
import { messagesIn } from '../mail/stored-messages.js'
import type { InboxView, MailView } from '../schema/output-overview.js'
import type { Store } from '../storage/store.js'
import { checkIsChild } from '../tree/relations.js'

export function viewInbox(store: Store | undefined, owner: string): InboxView {
  if (store === undefined) return { agent: owner, messages: [], damaged: [] }
  if (owner === OPERATOR) {
    const messages = sortForOperator(messagesIn(store, OPERATOR)).map(viewMail)
    return { agent: OPERATOR, messages, damaged: pathsOf(damagedOperatorMail(store)) }
  }
  const state = readState(store, owner)
  return {
    agent: owner,
    messages: listWaiting(store, state).map(viewMail),
    damaged: pathsOf(damagedMail(store, state)),
  }
}

/** Only the messages with these ids, in inbox order. Throws MESSAGE_NOT_FOUND for any other id. */
export function pick(inbox: InboxView, ids: string[]): InboxView {
  const missing = ids.find((id) => !inbox.messages.some(({ message_id }) => message_id === id))
  if (missing !== undefined) throw noMessage(missing)
  return {
    ...inbox,
    messages: inbox.messages.filter(({ message_id }) => ids.includes(message_id)),
    damaged: [],
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

export function noMessage(id: string): SubstratError {
  return new SubstratError(
    'MESSAGE_NOT_FOUND',
    `no pending message has the id ${JSON.stringify(id.slice(0, 80))}`,
    {
      hint: 'list pending messages: substrat inbox',
      facts: { message_id: id.slice(0, 200) },
    },
  )
}

export function damagedError({ damaged }: InboxView): SubstratError | undefined {
  if (damaged.length === 0) return undefined
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
  const { message_id, kind, from, from_path, reply_to, content, control, key, not_before, created_at } =
    message
  return { message_id, kind, from, from_path, reply_to, content, control, key, not_before, created_at }
}

function pathsOf(damaged: DamagedMessage[]): string[] {
  return damaged.map(({ path }) => path)
}
