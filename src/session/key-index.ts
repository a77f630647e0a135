/**
 * Finds the latest run of a key of any age. The log is the truth. The state has a bounded number of the latest keys. The key
 * index (`keys` beside the log) is a cache of all keys.
 *
 * Invariants:
 * - A key counts as new only if it is neither in the state nor in an index that covers every record before `keys_since`.
 * - An index is used only if the last record that it covers is in this log. This excludes the index of another agent, of a
 *   longer log, and of a log that was restored or rebuilt since.
 * - A missing or damaged index is rebuilt from the log, and an index that is behind is completed from the log.
 * - An entry is trusted only if the record that it points to has the key.
 *
 * The holder of the lock writes the index when a session closes and the index lacks `keysLateMax` keys, before any of them
 * leaves the state. The log is synced by then, so the index is never ahead of it. The index itself is never synced: `KeyFile`
 * describes what a power cut may leave.
 */
import { clock } from '../clock.js'
import { SubstratError } from '../errors.js'
import { limits } from '../limits.js'
import type { KeyIndex, KeyPlace, KeyRetention, LogReader, OpenedLog, Store } from '../storage/store.js'
import { hashOfKey, isHashIn, isSameKey } from './key-hashes.js'
import { gatherKeys, keysInMemory, MINUTE_MS, minuteOf, placesOf, placesSince } from './key-places.js'
import { recordsFrom } from './load.js'
import type { SessionRecord } from './records.js'
import type { KeyEntry, State } from './state.js'

/**
 * Undefined if no run had the key; `lost` if its run was in a lost part of the log. An older log may have the key in another
 * Unicode form, so the latest run of any form counts. The index has each key by its NFC form, but hashes carried over from an
 * older index are of the recorded form.
 */
export function findKey(store: Store, state: State, key: string): KeyEntry | 'lost' | undefined {
  const forms = new Set([key, key.normalize('NFC'), key.normalize('NFD')])
  const found = [...forms].map((form) => findForm(store, state, form))
  const entries = found.filter((entry) => entry !== undefined && entry !== 'lost')
  return entries.sort((a, b) => b.seq - a.seq)[0] ?? found.find((entry) => entry === 'lost')
}

function findForm(store: Store, state: State, key: string): KeyEntry | 'lost' | undefined {
  const recent = state.keys.findLast((entry) => isSameKey(entry.key, key))
  if (recent !== undefined || state.keys_since === 0) return recent
  // The index is opened before the log. Otherwise a writer could extend both in between, and the index would seem ahead.
  const file = openIndex(store, state.id)
  let log: OpenedLog | undefined
  try {
    log = store.openLog(state.id)
    return log === undefined ? undefined : findOlder(store, log, { file, state }, key)
  } finally {
    log?.close()
    file?.close()
  }
}

/** Call it under the agent's lock, with the log synced. A failed write is ignored, because the log still has the keys. */
export function writeKeyIndex(store: Store, log: LogReader, state: State): void {
  attempt(() => writeWhereDue(store, log, state))
}

/** Rebuilds the index from the log alone. Call it under the agent's lock, with the log synced. */
export function rebuildKeyIndex(store: Store, log: LogReader, state: State): void {
  keysInMemory(store).delete(state.id)
  write(store, log, state, gatherKeys(store, log, state))
  keysInMemory(store).delete(state.id)
}

/** Which keys the index must retain. */
export function keyRetentionAt({ updated_at }: State): KeyRetention {
  // The earlier of the two, so that keys are retained long enough even if the log is ahead of the clock.
  const now = Math.min(minuteOf(updated_at), Math.floor(clock.now() / MINUTE_MS))
  const keptMinutes = limits.keysKeptMs / MINUTE_MS
  return { minuteMin: now - keptMinutes, keysMin: limits.keysKeptMin, keptMinutes }
}

/** Whether the last record that the index covers is in this log. */
export function isIndexOfLog(log: LogReader, { end }: KeyIndex): boolean {
  return log.checksumAt(end.last_seq, end.last_offset, end.log_bytes) === end.record_crc
}

/** Whether the index may lack so many keys that it must be written. False needs no look at the index. */
export function isKeyIndexDue(store: Store, { id, keys }: State): boolean {
  return keys.length >= limits.keysLateMax || keysInMemory(store).has(id)
}

function writeWhereDue(store: Store, log: LogReader, state: State): void {
  if (!isKeyIndexDue(store, state)) return
  const isGathered = keysInMemory(store).has(state.id)
  const file = isGathered ? undefined : openIndex(store, state.id)
  try {
    const index = file !== undefined && isIndexOfLog(log, file) ? file : undefined
    const known = index?.end.last_seq ?? 0
    const late = state.keys.filter(({ seq }) => seq > known)
    const isBehind = known + 1 < state.keys_since
    // An index of an earlier version is rebuilt once.
    const isByForm = index?.isByForm !== false
    if (index !== undefined && isByForm && !isBehind && late.length < limits.keysLateMax) return
    const entries = index === undefined ? undefined : attempt(() => index.entries())
    if (!isByForm) write(store, log, state, gatherKeys(store, log, state))
    else if (!isBehind && (index === undefined || entries !== undefined))
      write(store, log, state, placesOf(late), entries)
    else if (index !== undefined && entries !== undefined)
      write(store, log, state, placesSince(store, log, index, state), entries)
    else write(store, log, state, gatherKeys(store, log, state))
    keysInMemory(store).delete(state.id)
  } finally {
    file?.close()
  }
}

function findOlder(
  store: Store,
  log: LogReader,
  { file, state }: { file: KeyIndex | undefined; state: State },
  key: string,
): KeyEntry | 'lost' | undefined {
  const hash = hashOfKey(key)
  const found =
    file !== undefined && isIndexOfLog(log, file) ? lookUp(store, log, { file, state }, hash) : undefined
  if (found !== undefined) {
    if (found.place === undefined && file?.isByForm === true) return undefined
    const fate = found.place === undefined ? undefined : fateAt(store, log, state, found.place, key)
    if (fate !== undefined) return fate
  }
  const place = gatherKeys(store, log, state).get(hash)
  return place === undefined ? undefined : fateAt(store, log, state, place, key)
}

/** Undefined if the index is damaged. */
function lookUp(
  store: Store,
  log: LogReader,
  { file: index, state }: { file: KeyIndex; state: State },
  hash: string,
): { place: KeyPlace | undefined } | undefined {
  const isBehind = index.end.last_seq + 1 < state.keys_since
  const late = isBehind ? placesSince(store, log, index, state).get(hash) : undefined
  return late === undefined ? attempt(() => index.find(Buffer.from(hash, 'hex'))) : { place: late }
}

/** Undefined if the record there does not have the key. */
function fateAt(
  store: Store,
  log: LogReader,
  { id }: State,
  place: KeyPlace,
  key: string,
): KeyEntry | 'lost' | undefined {
  const record = recordAtPlace(log, place)
  if (record?.kind === 'run.started' && record.key !== undefined && isSameKey(record.key, key))
    return { key: record.key, seq: place.seq, offset: place.offset, started_at: record.ts, end: 0 }
  if (record?.kind !== 'session.rebuilt') return undefined
  if (record.keys.some((other) => isSameKey(other, key))) return 'lost'
  return isHashIn(store, id, record, hashOfKey(key)) ? 'lost' : undefined
}

/** Undefined if no intact record is there. The caller then reads the log, which reports its damage. */
function recordAtPlace(log: LogReader, place: KeyPlace): SessionRecord | undefined {
  try {
    for (const { record } of recordsFrom(log, place)) return record
  } catch (error) {
    if (!(error instanceof SubstratError && error.code === 'CORRUPT')) throw error
  }
  return undefined
}

function write(
  store: Store,
  log: LogReader,
  state: State,
  added: Map<string, KeyPlace>,
  known?: Buffer,
): void {
  const { id, last_seq, last_offset, log_bytes } = state
  const record_crc = log.checksumAt(last_seq, last_offset, log_bytes)
  if (record_crc === undefined) return
  store.keys.write(
    { agent_id: id, last_seq, last_offset, log_bytes, record_crc },
    { known, added, kept: keyRetentionAt(state) },
  )
}

function openIndex(store: Store, agentId: string): KeyIndex | undefined {
  return attempt(() => store.keys.open(agentId))
}

/** Undefined if the disk fails. The log has everything that this cache has. */
function attempt<T>(read: () => T): T | undefined {
  try {
    return read()
  } catch (error) {
    if (error instanceof SubstratError) return undefined
    throw error
  }
}
