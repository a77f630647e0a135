/**
 * The place in the mailbox: UIDVALIDITY and the last UID that was read.
 *
 * Invariants: UIDs only grow while UIDVALIDITY stays the same. When it changes, no UID means what it meant before, so the mailbox
 * is read again from its beginning. substrat knows the ids of the messages and runs none twice. It remembers them for 30 days,
 * so mail that is older than `REREAD_DAYS` is skipped then.
 */
import { mailFailure } from './failure.js'

export interface Place {
  validity: string
  uid: number
  /** Messages up to this UID are read again. 0 if none is. */
  again: number
}

export const REREAD_DAYS = 25

export function cursorOf({ validity, uid, again }: Place): string {
  return again > uid ? `${validity}:${uid}:${again}` : `${validity}:${uid}`
}

function placeIn(cursor: string): Place {
  const [, validity = '', uid = '', again = '0'] = /^(\d+):(\d+)(?::(\d+))?$/.exec(cursor) ?? []
  if (validity === '') throw mailFailure(`the cursor ${cursor} is not one of a mailbox`, true)
  return { validity, uid: Number(uid), again: Number(again) }
}

/** Where to read on in a mailbox that the server has just opened. */
export function placeAt(cursor: string | null, validity: string, uidNext: number): Place {
  const latest = uidNext - 1
  if (cursor === null) return { validity, uid: latest, again: 0 }
  const place = placeIn(cursor)
  return place.validity === validity ? place : { validity, uid: 0, again: latest }
}
