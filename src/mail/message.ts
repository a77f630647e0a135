/** A message in an inbox, between agents or between the operator and an agent. Its file is one framed line. */

import { isUuid } from '../format.js'
import type { SlotRecord } from '../schedule/plan.js'
import { MAIL_PREDICATES } from '../schema/generated/mail-predicates.js'
import type { Control, Message } from '../schema/mail.js'
import { unknownWords } from '../session/records.js'
import type { Unframed } from '../storage/store.js'

export type { Control, Message } from '../schema/mail.js'

/** Undefined if the stored line is not a complete message, or has another id than its file name. */
export function decodeMessage(line: Unframed, messageId: string): Message | undefined {
  if ('damage' in line) return undefined
  const message = fieldsOf(line)
  return message.message_id === messageId && isWhole(message) ? message : undefined
}

/**
 * The words that only a later version writes into a message, such as `the kind "letter" of a message`. Undefined if the line is
 * damaged: its checksum is right, so no fault of a disk turned one word into another.
 */
export function unknownInMessage(line: Unframed, messageId: string): string | undefined {
  if ('damage' in line) return undefined
  const { control, ...message } = fieldsOf(line)
  if (message.message_id !== messageId) return undefined
  const verb: unknown = control?.verb
  const isLater = typeof verb === 'string' && !Object.hasOwn(VERBS, verb)
  return unknownWords(MAIL_PREDICATES.message, { ...message, control: isLater ? verb : control }, 'a message')
}

const VERBS: Record<Control['verb'], true> = {
  gate: true,
  ungate: true,
  permit: true,
  poke: true,
  watch: true,
  unwatch: true,
  outbound: true,
}

function fieldsOf({ object }: Exclude<Unframed, { damage: unknown }>): Message {
  const stored = object as unknown as Partial<Message>
  // Messages of the first versions lack some fields.
  return { ...LATER_FIELDS, from_path: stored.from, ...stored } as Message
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

/** A message to deliver now. A due reminder or slot is delivered as a message to its own agent. */
export interface Delivery extends Message {
  reminder_id?: string
  schedule_id?: string
  /** The records of the slot, in one batch with the message. */
  slots?: SlotRecord[]
}
