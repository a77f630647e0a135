/** A message between agents, or between the operator and an agent, as it waits in an inbox: one framed line. */

import { isUuid } from '../format.js'
import type { ClockReading } from '../host/identity.js'
import { isReading, type WatchedStatus } from '../session/fields.js'
import { isTime } from '../session/shapes.js'
import type { Unframed } from '../storage/store.js'

type MailKind = 'request' | 'response' | 'notification' | 'error'

/** What a parent, or the operator, asks of an agent that no turn is needed for. */
export type Control =
  | { verb: 'gate' | 'ungate' | 'permit' | 'poke' | 'unwatch' }
  | { verb: 'watch'; on: WatchedStatus[]; once: boolean }

export interface Message {
  message_id: string
  /** An agent's id, or `operator`. */
  from: string
  /** What the sender is called. */
  from_path: string
  to: string
  /** `control` is obeyed, and never shown to a model. */
  kind: MailKind | 'control'
  reply_to: string | null
  content: string
  control: Control | null
  key: string | null
  /** sha256 of the content. */
  digest: string
  /** It is delivered then, and not earlier. */
  not_before: string | null
  /** When a delay began; null where `not_before` was named as a time. */
  clock: ClockReading | null
  turn_timeout_ms: number | null
  created_at: string
  /** The sender's counter: mail is first-in-first-out per sender by this, and by nothing else. */
  sequence: number
}

/** Undefined where what is stored is no whole message, or another one than its name says. */
export function decodeMessage(line: Unframed, messageId: string): Message | undefined {
  if ('damage' in line) return undefined
  const stored = line.object as unknown as Partial<Message>
  // With the fields that the first messages did not have.
  const message = { ...LATER_FIELDS, from_path: stored.from, ...stored } as Message
  return message.message_id === messageId && isWhole(message) ? message : undefined
}

const LATER_FIELDS = { reply_to: null, control: null, not_before: null, clock: null }

/** Whether its delivery can be recorded: a message that no record takes would stand in the way of all others. */
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

/** A message that is to be delivered now. */
export interface Delivery extends Message {
  reminder_id?: string
}
