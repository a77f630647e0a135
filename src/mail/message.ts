/** A message between agents, or between the operator and an agent, as it waits in an inbox: one framed line. */
import { frame, unframe } from '../storage/frame.js'
import { isUuid } from '../storage/paths.js'

export type MailKind = 'request' | 'response' | 'notification' | 'error'

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
  const isWhole =
    message.message_id === messageId &&
    isUuid(message.to) &&
    [message.from, message.kind, message.content, message.digest, message.created_at].every(
      (text) => typeof text === 'string',
    ) &&
    Number.isSafeInteger(message.sequence)
  return isWhole ? message : undefined
}
