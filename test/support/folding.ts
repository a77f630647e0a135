/** Folds records without a disk: each is in a line of an assumed length. */

import { fold } from '../../src/session/fold/fold.js'
import type { NewRecord, SessionRecord } from '../../src/session/records.js'
import type { Location, State } from '../../src/session/state.js'

const LINE_BYTES = 100

export function placed(record: NewRecord, seq: number, ts = timeOf(seq)): SessionRecord {
  return { seq, ts, batch: [seq, seq], ...record } as SessionRecord
}

export function locationOf(seq: number): Location {
  return { seq, offset: (seq - 1) * LINE_BYTES, end: seq * LINE_BYTES }
}

/** Never changes its arguments: states are deeply frozen. */
export function foldAll(records: NewRecord[], from?: State): State {
  let state = from
  for (const record of records) {
    const seq = (state?.last_seq ?? 0) + 1
    state = deepFreeze(fold(state, placed(record, seq), locationOf(seq)))
  }
  return state as State
}

export function timeOf(second: number): string {
  return new Date(Date.UTC(2026, 0, 1) + second * 1000).toISOString()
}

function deepFreeze<T>(value: T): T {
  if (typeof value !== 'object' || value === null || Object.isFrozen(value)) return value
  Object.freeze(value)
  for (const part of Object.values(value)) deepFreeze(part)
  return value
}
