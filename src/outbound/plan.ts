/** The rules of sending, pure: the messages that are due, and the record of each attempt. */
import { type ClockReading, readClock } from '../host/identity.js'
import { limits } from '../limits.js'
import type { OutboundResult } from '../schema/mail.js'
import { isOver } from '../session/durations.js'
import type { OutboundEntry } from '../session/state.js'
import { random } from '../start/random.js'
import type { Attempt } from './target.js'

/** A target that may show a message twice shows it at most so often: after so many attempts of unknown outcome it is dropped. */
const UNKNOWN_ATTEMPTS_MAX = 2

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

/** The record of an entry that is dropped without an attempt. Undefined if it may be tried. */
export function expiry(
  entry: OutboundEntry,
  hasTarget: boolean,
  now: ClockReading,
): OutboundResult | undefined {
  const { expires_at, thread } = entry
  if (unknownAttempts(entry) >= UNKNOWN_ATTEMPTS_MAX)
    return dropped(entry, 'attempts', 'the answers to its attempts were lost')
  if (expires_at === null || expires_at > now.at) return undefined
  // Only `channel run` has the target of a conversation. Its absence here says nothing about the settings.
  return dropped(entry, hasTarget || thread !== null ? 'expired' : 'no_target')
}

/** The attempts after which the message may have been shown. */
function unknownAttempts({ begun = 0, not_shown = 0 }: OutboundEntry): number {
  return begun - not_shown
}

/** The record that must be durable before the next attempt at a target that may show a message twice. */
export function beginningOf({ outbound_id, begun = 0 }: OutboundEntry): OutboundResult {
  return { kind: 'outbound.attempted', outbound_id, attempt: begun + 1 }
}

function dropped(
  entry: OutboundEntry,
  reason: 'attempts' | 'expired' | 'refused' | 'no_target',
  why?: string,
): OutboundResult {
  const { outbound_id } = entry
  const sentences = unknownAttempts(entry) > 0 ? [why, 'it may have been shown'] : [why]
  const text = sentences.filter((each) => each !== undefined).join('; ')
  return { kind: 'outbound.dropped', outbound_id, reason, ...(text === '' ? {} : { why: text }) }
}

/** Undefined if the outcome is unknown: the entry stays as it is. */
export function resultOf(
  entry: OutboundEntry,
  attempt: Attempt,
  triesMax: number,
  now: ClockReading = readClock(),
): OutboundResult | undefined {
  const { outbound_id, attempts, begun } = entry
  const notShown = { ...entry, not_shown: (entry.not_shown ?? 0) + 1 }
  switch (attempt.outcome) {
    case 'unknown':
      return undefined
    case 'accepted': {
      const { remoteId } = attempt
      const sent = { kind: 'outbound.sent' as const, outbound_id, attempt: attempts + 1 }
      return remoteId === undefined ? sent : { ...sent, remote_id: remoteId }
    }
    case 'refused':
      return dropped(begun === undefined ? entry : notShown, 'refused', attempt.why)
    case 'failed': {
      const { why, retryAfterMs, isNotShown = false } = attempt
      const isKnown = begun !== undefined && isNotShown
      const after = isKnown ? notShown : entry
      if (attempts + 1 >= triesMax || unknownAttempts(after) >= UNKNOWN_ATTEMPTS_MAX)
        return dropped(after, 'attempts', why)
      const pauseMs =
        retryAfterMs === undefined
          ? PAUSE_MS * 2 ** attempts * (1 + (JITTER * random.bytes(1).readUInt8(0)) / 255)
          : Math.min(retryAfterMs, limits.outboundRetryAfterMsMax)
      const not_before = new Date(Date.parse(now.at) + pauseMs).toISOString()
      const failed = { outbound_id, attempt: attempts + 1, why, not_before, clock: now }
      return { kind: 'outbound.failed', ...failed, ...(isKnown ? { not_shown: true } : {}) }
    }
  }
}
