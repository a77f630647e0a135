/** Where in a log the latest run of each key begins, gathered from the log itself. */
import type { KeyIndex, KeyPlace, LogReader, Store } from '../storage/store.js'
import { hashesOfKey, keyHashesIn, type Rebuilt } from './key-hashes.js'
import { recordsOfKinds } from './load.js'
import type { KeyEntry, State } from './state.js'

export const MINUTE_MS = 60_000

/** The start of the latest run of each key in the log, by the key's hash: the contents of a complete index. */
export function placesInLog(
  store: Store,
  agentId: string,
  log: LogReader,
  to: number,
): Map<string, KeyPlace> {
  const places = new Map<string, KeyPlace>()
  gather(places, log, { seq: 1, offset: 0 }, to, hashesFrom(store, agentId))
  return places
}

interface Gathered {
  places: Map<string, KeyPlace>
  last_seq: number
  log_bytes: number
}

/** Keys that this process has gathered from a whole log, until they are written. A send looks keys up twice and writes once. */
const gatheredByStore = new WeakMap<Store, Map<string, Gathered>>()

export function keysInMemory(store: Store): Map<string, Gathered> {
  const known = gatheredByStore.get(store) ?? new Map<string, Gathered>()
  gatheredByStore.set(store, known)
  return known
}

export function gatherKeys(
  store: Store,
  log: LogReader,
  { id, last_seq, log_bytes }: State,
): Map<string, KeyPlace> {
  const known = keysInMemory(store).get(id) ?? { places: new Map(), last_seq: 0, log_bytes: 0 }
  if (known.last_seq < last_seq) {
    const from = { seq: known.last_seq + 1, offset: known.log_bytes }
    gather(known.places, log, from, log_bytes, hashesFrom(store, id))
    keysInMemory(store).set(id, { places: known.places, last_seq, log_bytes })
  }
  return known.places
}

export function placesSince(
  store: Store,
  log: LogReader,
  { end }: KeyIndex,
  { id, log_bytes }: State,
): Map<string, KeyPlace> {
  const places = new Map<string, KeyPlace>()
  gather(places, log, { seq: end.last_seq + 1, offset: end.log_bytes }, log_bytes, hashesFrom(store, id))
  return places
}

function hashesFrom(store: Store, agentId: string): (record: Rebuilt) => string[] {
  return (record) => keyHashesIn(store, agentId, record)
}

function gather(
  places: Map<string, KeyPlace>,
  log: LogReader,
  from: { seq: number; offset: number },
  to: number,
  hashesIn: (record: Rebuilt) => string[],
): void {
  for (const { record, offset } of recordsOfKinds(log, from, to, [
    'run.started',
    'session.rebuilt',
    'session.imported',
  ])) {
    // A copy has none of the original's keys.
    if (record.kind === 'session.imported') places.clear()
    const place = { seq: record.seq, offset, minute: minuteOf(record.ts) }
    const started = record.kind === 'run.started' && record.key !== undefined ? [record.key] : []
    const keys = record.kind === 'session.rebuilt' ? record.keys : started
    for (const hash of keys.flatMap(hashesOfKey)) places.set(hash, place)
    if (record.kind !== 'session.rebuilt') continue
    for (const hash of hashesIn(record)) places.set(hash, place)
  }
}

export function placesOf(keys: KeyEntry[]): Map<string, KeyPlace> {
  return new Map(
    keys.flatMap(({ key, seq, offset, started_at }) =>
      hashesOfKey(key).map((hash) => [hash, { seq, offset, minute: minuteOf(started_at) }] as const),
    ),
  )
}

export function minuteOf(time: string): number {
  return Math.floor(Date.parse(time) / MINUTE_MS)
}
