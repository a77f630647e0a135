/** A target, as the sender needs it. Notifications provide it, and so may channels. */
import type { Button, OutboundReply } from '../schema/types.js'
import type { OutboundEvent } from '../schema/words.js'

/** The same at every attempt, because all of it is in the log. */
export interface OutboundMessage {
  /** The idempotency key. */
  outbound_id: string
  event: OutboundEvent
  agent: string
  path: string
  run_id: string | null
  thread: string | null
  /** When it was queued. */
  at: string
  text: string
  /** Only of a message of a conversation: the message there that it answers, and answers that a person can choose. */
  replies_to?: OutboundReply
  buttons?: Button[]
}

/**
 * - `accepted`: the target has it. `refused`: it will never take it.
 * - `failed`: another attempt may succeed. `retryAfterMs`: the target's own wish. `isNotShown`: the message has certainly not been
 *   shown. It matters only for a target that may show a message twice.
 * - `unknown`: the sender gave up waiting. The attempt does not count, and the same message is sent again later.
 */
export type Attempt =
  | { outcome: 'accepted'; remoteId?: string }
  | { outcome: 'refused'; why: string }
  | { outcome: 'failed'; why: string; retryAfterMs?: number; isNotShown?: boolean }
  | { outcome: 'unknown' }

export interface OutboundTarget {
  triesMax: number
  /** The target does not recognize a repeated id, so it may show a message once for each attempt. Each attempt is recorded first. */
  mayShowTwice?: boolean
  /** How many more messages would be sent at once. */
  room(): number
  /** Aborted when the command ends. Never throws. `why` has no secret. */
  send(message: OutboundMessage, signal: AbortSignal): Promise<Attempt>
}

/** By name. A target that is not there, or cannot be used by this process, keeps its messages pending. */
export type OutboundTargets = ReadonlyMap<string, OutboundTarget>
