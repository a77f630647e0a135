/** A message in an inbox, between agents or between the operator and an agent. Its file is one framed line. */

import { isUuid } from '../format.js'
import type { ClockReading } from '../host/identity.js'
import { isReading, type WatchedStatus } from '../session/fields.js'
import { isTime } from '../session/shapes.js'
import type { Unframed } from '../storage/store.js'

type MailKind = 'request' | 'response' | 'notification' | 'error'

/** A command from the parent or the operator that the agent carries out without a turn. */
export type Control =
  | { verb: 'gate' | 'ungate' | 'permit' | 'poke' | 'unwatch' }
  | { verb: 'watch'; on: WatchedStatus[]; once: boolean }

export interface Message {
  message_id: string
  /** An agent's id, or `operator`. */
  from: string
  /** The sender's path, for display. */
  from_path: string
  to: string
  /** No model sees a `control`. */
  kind: MailKind | 'control'
  reply_to: string | null
  content: string
  control: Control | null
  key: string | null
  /** sha256 of the content. */
  digest: string
  /** The message is not delivered before this time. */
  not_before: string | null
  /** The clock when a delay began; null if the sender gave `not_before` as a time. */
  clock: ClockReading | null
  turn_timeout_ms: number | null
  created_at: string
  /** The sender's counter, which alone defines the first-in-first-out order per sender. */
  sequence: number
}

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
  const { from, from_path, to, content, digest, created_at, sequence, kind, control } = message
  const { key, turn_timeout_ms, reply_to, not_before, clock } = message
  return (
    [from, from_path, to, content, digest].every((text) => typeof text === 'string') &&
    isTime(created_at) &&
    Number.isSafeInteger(sequence) &&
    (kind === 'control' ? isControl(control, from) : KINDS.includes(kind)) &&
    (key === null || typeof key === 'string') &&
    (turn_timeout_ms === null || Number.isSafeInteger(turn_timeout_ms)) &&
    (reply_to === null || (typeof reply_to === 'string' && isUuid(reply_to))) &&
    (not_before === null || isTime(not_before)) &&
    (clock === null || isReading(clock))
  )
}

const KINDS: string[] = ['request', 'response', 'notification', 'error'] satisfies MailKind[]
const VERBS: string[] = ['gate', 'ungate', 'permit', 'poke', 'watch', 'unwatch'] satisfies Control['verb'][]
const STATUSES: string[] = ['idle', 'waiting', 'interrupted'] satisfies WatchedStatus[]

function isControl(control: Control | null, from: string): boolean {
  if (!VERBS.includes(control?.verb ?? '')) return false
  if (control?.verb === 'unwatch') return isUuid(from)
  if (control?.verb !== 'watch') return true
  const { on, once } = control
  return (
    isUuid(from) &&
    typeof once === 'boolean' &&
    Array.isArray(on) &&
    on.every((status) => STATUSES.includes(status))
  )
}

/** A message to deliver now. A due reminder is delivered as a message to its own agent. */
export interface Delivery extends Message {
  reminder_id?: string
}
