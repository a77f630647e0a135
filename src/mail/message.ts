/** A message between agents, or between the operator and an agent, as it waits in an inbox: one framed line. */
import { isTime } from '../session/records.js'
import { frame, unframe } from '../storage/frame.js'
import { isUuid } from '../storage/paths.js'

type MailKind = 'request' | 'response' | 'notification' | 'error'

export interface Message {
  message_id: string
  /** An agent's id, or `operator`. */
  from: string
  to: string
  kind: MailKind
  content: string
  key: string | null
  /** sha256 of the content. */
  digest: string
  turn_timeout_ms: number | null
  created_at: string
  /** The sender's counter: mail is first-in-first-out per sender by this, and by nothing else. */
  sequence: number
}

export function encodeMessage(message: Message): Buffer {
  return frame(message)
}

/** Undefined where the bytes are no whole message, or another one than their name says. */
export function decodeMessage(bytes: Buffer, messageId: string): Message | undefined {
  const line = unframe(bytes.subarray(0, -1))
  if ('damage' in line) return undefined
  const message = line.object as unknown as Message
  return message.message_id === messageId && isUuid(message.to) && isWhole(message) ? message : undefined
}

const KINDS: MailKind[] = ['request', 'response', 'notification', 'error']

/** Whether its delivery can be recorded: a message that no record takes would stand in the way of all others. */
function isWhole({
  from,
  kind,
  content,
  key,
  digest,
  turn_timeout_ms,
  created_at,
  sequence,
}: Message): boolean {
  return (
    [from, content, digest].every((text) => typeof text === 'string') &&
    KINDS.includes(kind) &&
    isTime(created_at) &&
    (key === null || typeof key === 'string') &&
    (turn_timeout_ms === null || Number.isSafeInteger(turn_timeout_ms)) &&
    Number.isSafeInteger(sequence)
  )
}
