/** A message in an inbox, between agents or between the operator and an agent. Its file is one framed line. */

import { isUuid } from '../format.js'
import { MAIL_PREDICATES } from '../schema/generated/mail-predicates.js'
import type { Message } from '../schema/mail.js'
import type { Unframed } from '../storage/store.js'

export type { Control, Message } from '../schema/mail.js'

/** Undefined if the stored line is not a complete message, or has another id than its file name. */
export function decodeMessage(line: Unframed, messageId: string): Message | undefined {
  if ('damage' in line) return undefined
  const stored = line.object as unknown as Partial<Message>
  // Messages of the first versions lack some fields.
  const message = { ...LATER_FIELDS, from_path: stored.from, ...stored } as Message
  return message.message_id === messageId && isWhole(message) ? message : undefined
}

const LATER_FIELDS = { reply_to: null, control: null, not_before: null, clock: null }

/** Whether its delivery can be recorded. A message that no record can hold would block all later ones. */
function isWhole(message: Message): boolean {
  const checks = Object.entries(MAIL_PREDICATES.message)
  if (!checks.every(([field, check]) => check(message[field as keyof Message]))) return false
  const { kind, control, from } = message
  if (kind !== 'control') return true
  // A subscription ends at an agent, never at the operator.
  return control !== null && (!/watch$/.test(control.verb) || isUuid(from))
}

/** A message to deliver now. A due reminder is delivered as a message to its own agent. */
export interface Delivery extends Message {
  reminder_id?: string
}
