/**
 * What is left of a session whose log was damaged.
 *
 * Invariants: nothing goes on by itself, and nothing is delivered, before a person says so. What was taken before is not taken
 * again, though the record of it is lost; who asked is told.
 */
import type { NewRecord, Place } from '../records.js'
import type { Location, OutboxEntry, State } from '../state.js'

export function foldRebuilt(next: State, record: NewRecord<'session.rebuilt'> & Place, at: Location): State {
  const known = new Set(next.delivered)
  const { keys, key_hashes = [], more_key_hashes } = record
  const hasKeys = keys.length + key_hashes.length > 0 || more_key_hashes !== undefined
  return {
    ...next,
    hold: true,
    isPoked: false,
    delivered: [...next.delivered, ...record.delivered.filter((id) => !known.has(id))],
    owes: [...next.owes, ...record.requests.map((request) => errorTo(request, at))],
    // Some may have rung since, or been cancelled.
    reminders: [],
    // They may be very many: the key index has them from here on, at this record.
    ...(hasKeys ? { keys: [], keys_since: at.seq + 1 } : {}),
    lost: { kept: [...(next.lost?.kept ?? []), record.kept] },
    recovery: { interruption: null, barren_attempts: 0, unanswered_requests: 0 },
  }
}

/** Where it was answered, it is not open with who asked any more, and this tells nobody. */
function errorTo({ message_id, from }: { message_id: string; from: string }, { seq }: Location): OutboxEntry {
  return {
    to: from,
    kind: 'error',
    reply_to: message_id,
    status: null,
    run_id: message_id,
    seq,
    reply: null,
    trouble: { status: 'cancelled', reason: 'log_damaged', error: null },
  }
}
