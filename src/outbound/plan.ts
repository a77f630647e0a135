/** The rules of sending, pure: the messages that are due, and the record of each attempt. */
import { type ClockReading, readClock } from '../host/identity.js'
import { limits } from '../limits.js'
import type { OutboundResult } from '../schema/mail.js'
import { isOver } from '../session/durations.js'
import type { OutboundEntry } from '../session/state.js'
import { random } from '../start/random.js'
import type { Attempt } from './target.js'

/** The pause after the first failure. It doubles with each further one. */
const PAUSE_MS = 1000
/** The pause is longer by up to this part, so that many agents do not try at the same moment. */
const JITTER = 0.25

/** Entries of one thread at one target, in order. Queues are independent of each other. */
export function queuesOf(entries: OutboundEntry[]): Map<string, OutboundEntry[]> {
  const queues = new Map<string, OutboundEntry[]>()
  for (const entry of entries) {
    const key = JSON.stringify([entry.target, entry.thread])
    const queue = queues.get(key)
    if (queue === undefined) queues.set(key, [entry])
    else queue.push(entry)
  }
  return queues
}

/** How long until the next attempt. 0 if it is due. */
export function pauseBefore({ not_before, clock }: OutboundEntry, now: ClockReading): number {
  if (not_before === null || isOver(not_before, clock, now)) return 0
  // After the clock was set back, the rest of the pause may look longer than any pause is.
  return Math.min(Date.parse(not_before) - Date.parse(now.at), limits.outboundRetryAfterMsMax)
}

/** The record of an entry that is dropped without an attempt. Undefined if its time is not over. */
export function expiry(
  entry: OutboundEntry,
  hasTarget: boolean,
  now: ClockReading,
): OutboundResult | undefined {
  const { outbound_id, expires_at, thread } = entry
  if (expires_at === null || expires_at > now.at) return undefined
  // Only `channel run` has the target of a conversation. Its absence here says nothing about the settings.
  return {
    kind: 'outbound.dropped',
    outbound_id,
    reason: hasTarget || thread !== null ? 'expired' : 'no_target',
  }
}

/** Undefined if the outcome is unknown: the entry stays as it is. */
export function resultOf(
  { outbound_id, attempts }: OutboundEntry,
  attempt: Attempt,
  triesMax: number,
  now: ClockReading = readClock(),
): OutboundResult | undefined {
  switch (attempt.outcome) {
    case 'unknown':
      return undefined
    case 'accepted': {
      const { remoteId } = attempt
      const sent = { kind: 'outbound.sent' as const, outbound_id, attempt: attempts + 1 }
      return remoteId === undefined ? sent : { ...sent, remote_id: remoteId }
    }
    case 'refused':
      return { kind: 'outbound.dropped', outbound_id, reason: 'refused', why: attempt.why }
    case 'failed': {
      const { why, retryAfterMs } = attempt
      if (attempts + 1 >= triesMax) return { kind: 'outbound.dropped', outbound_id, reason: 'attempts', why }
      const pauseMs =
        retryAfterMs === undefined
          ? PAUSE_MS * 2 ** attempts * (1 + (JITTER * random.bytes(1).readUInt8(0)) / 255)
          : Math.min(retryAfterMs, limits.outboundRetryAfterMsMax)
      const not_before = new Date(Date.parse(now.at) + pauseMs).toISOString()
      return { kind: 'outbound.failed', outbound_id, attempt: attempts + 1, why, not_before, clock: now }
    }
  }
}
