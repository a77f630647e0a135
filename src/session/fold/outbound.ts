/**
 * Folds outbound messages: notifications, and messages of conversations outside the home.
 *
 * Invariants: an entry is queued once. It stays in the state until a record says that it was sent or dropped. A result for an
 * entry that is not there changes nothing: after a kill, two processes may have sent it, with the same id.
 */
import { SessionStateError } from '../../errors.js'
import type { NewRecord, Place } from '../records.js'
import type { Location, OutboundEntry, State } from '../state.js'

export function outboundQueued(
  next: State,
  record: NewRecord<'outbound.queued'> & Place,
  at: Location,
): State {
  const { outbound_id, target, event, thread = null, run_id = null, expires_at = null } = record
  const before = next.outbound ?? []
  if (before.some((entry) => entry.outbound_id === outbound_id))
    throw new SessionStateError(`outbound message ${outbound_id} is queued twice`)
  const entry: OutboundEntry = {
    ...{ outbound_id, target, thread, event, run_id, at },
    ...{ attempts: 0, not_before: null, clock: null, expires_at },
  }
  return { ...next, outbound: [...before, entry] }
}

export type OutboundResultRecord = NewRecord<
  'outbound.attempted' | 'outbound.sent' | 'outbound.failed' | 'outbound.dropped'
>

export function outboundResult(next: State, record: OutboundResultRecord): State {
  const { outbound, ...rest } = next
  if (outbound === undefined) return next
  const after = entriesAfter(outbound, record)
  return after.length === 0 ? rest : { ...rest, outbound: after }
}

/** The pending entries after the beginning or the result of an attempt. A record that was handed over may come after later ones. */
export function entriesAfter(entries: OutboundEntry[], record: OutboundResultRecord): OutboundEntry[] {
  const { outbound_id: id } = record
  switch (record.kind) {
    case 'outbound.attempted':
      return entries.map((entry) => (entry.outbound_id === id ? begunEntry(entry, record) : entry))
    case 'outbound.failed':
      return entries.map((entry) =>
        entry.outbound_id === id && entry.attempts < record.attempt ? failedEntry(entry, record) : entry,
      )
    default:
      return entries.filter(({ outbound_id }) => outbound_id !== id)
  }
}

function begunEntry(entry: OutboundEntry, { attempt }: NewRecord<'outbound.attempted'>): OutboundEntry {
  return { ...entry, begun: Math.max(entry.begun ?? 0, attempt) }
}

function failedEntry(entry: OutboundEntry, record: NewRecord<'outbound.failed'>): OutboundEntry {
  const { attempt, not_before, clock = null, not_shown: isNotShown = false } = record
  const failed = { ...entry, attempts: attempt, not_before, clock }
  return isNotShown ? { ...failed, not_shown: (entry.not_shown ?? 0) + 1 } : failed
}
