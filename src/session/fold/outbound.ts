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

export type OutboundResultRecord = NewRecord<'outbound.sent' | 'outbound.failed' | 'outbound.dropped'>

export function outboundResult(next: State, record: OutboundResultRecord): State {
  const { outbound, ...rest } = next
  if (outbound === undefined) return next
  const after = entriesAfter(outbound, record)
  return after.length === 0 ? rest : { ...rest, outbound: after }
}

/** The pending entries after the result of an attempt. */
export function entriesAfter(entries: OutboundEntry[], record: OutboundResultRecord): OutboundEntry[] {
  if (record.kind !== 'outbound.failed')
    return entries.filter(({ outbound_id }) => outbound_id !== record.outbound_id)
  const { attempt, not_before, clock = null } = record
  return entries.map((entry) =>
    // A result that was handed over may come after that of a later attempt.
    entry.outbound_id === record.outbound_id && entry.attempts < attempt
      ? { ...entry, attempts: attempt, not_before, clock }
      : entry,
  )
}
