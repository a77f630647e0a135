/**
 * Keys of any age: which run had a key last. The log is the truth. The latest keys are in the state, which is bounded; all
 * of them, the latest too, are in the key index (`keys` beside the log), which is a cache.
 *
 * Invariants: a key counts as new only after the state was asked, and an index that knows every record before `keys_since`.
 * An index is used only where the last record that it knows is in this log: none of another agent, of a log that was
 * restored or rebuilt since, or of a later log counts. One that is missing, or does not check, is gathered from the log
 * again; one that is behind is completed from the log. What it says of a key is held against the record that it leads to.
 *
 * It is written by the holder of the lock, at the clean end of a session, as soon as `keysLateMax` keys are missing in it:
 * before any of these leaves the state. The log was synced by then, so the index is never ahead of it. The index itself is
 * never synced: `KeyFile` says what a power cut may leave of it.
 */
import { clock } from '../clock.js'
import { SubstratError } from '../errors.js'
import { limits } from '../limits.js'
import type { FileStore, KeyFile, KeyPlace, KeyRetention, LogReader, OpenedLog } from '../storage/store.js'
import { hashOfKey, isHashIn, isSameKey } from './key-hashes.js'
import { gatherKeys, keysInMemory, MINUTE_MS, minuteOf, placesOf, placesSince } from './key-places.js'
import { recordsFrom } from './load.js'
import type { SessionRecord } from './records.js'
import type { KeyEntry, State } from './state.js'

/**
 * Undefined where no run had the key; `lost` where what became of it was in a part of the log that was damaged. Logs from
 * before keys were normalised may have it in another form of the same text: the latest run of any form counts. The index
 * has each by its NFC form; hashes that were carried over from an index from before that are of the form as it was.
 */
export function findKey(store: FileStore, state: State, key: string): KeyEntry | 'lost' | undefined {
  const forms = new Set([key, key.normalize('NFC'), key.normalize('NFD')])
  const found = [...forms].map((form) => findForm(store, state, form))
  const entries = found.filter((entry) => entry !== undefined && entry !== 'lost')
  return entries.sort((a, b) => b.seq - a.seq)[0] ?? found.find((entry) => entry === 'lost')
}

function findForm(store: FileStore, state: State, key: string): KeyEntry | 'lost' | undefined {
  const recent = state.keys.findLast((entry) => isSameKey(entry.key, key))
  if (recent !== undefined || state.keys_since === 0) return recent
  // Before the log: a writer that goes on meanwhile must not seem to have written an index that is ahead of it.
  const file = openIndex(store, state.id)
  let log: OpenedLog | undefined
  try {
    log = store.logs.openForRead(state.id)
    return log === undefined ? undefined : findOlder(store, log, { file, state }, key)
  } finally {
    log?.close()
    file?.close()
  }
}

/** Under the agent's lock, when all of the log is synced. What cannot be written is gathered from the log when it is missed. */
export function writeKeyIndex(store: FileStore, log: LogReader, state: State): void {
  attempt(() => writeWhereDue(store, log, state))
}

/** All of it from the log, whatever it says. Under the agent's lock, when all of the log is synced. */
export function rebuildKeyIndex(store: FileStore, log: LogReader, state: State): void {
  keysInMemory(store).delete(state.id)
  write(store, log, state, gatherKeys(store, log, state))
  keysInMemory(store).delete(state.id)
}

/** Which keys are not to be forgotten. */
export function keyRetentionAt({ updated_at }: State): KeyRetention {
  // The earlier of the two: keys outlive a log that is ahead of the clock.
  const now = Math.min(minuteOf(updated_at), Math.floor(clock.now() / MINUTE_MS))
  const keptMinutes = limits.keysKeptMs / MINUTE_MS
  return { minuteMin: now - keptMinutes, keysMin: limits.keysKeptMin, keptMinutes }
}

/** Whether the last record that the index knows is in this log. */
export function isIndexOfLog(log: LogReader, { end }: KeyFile): boolean {
  return log.checksumAt(end.last_seq, end.last_offset, end.log_bytes) === end.record_crc
}

function writeWhereDue(store: FileStore, log: LogReader, state: State): void {
  const isGathered = keysInMemory(store).has(state.id)
  if (state.keys.length < limits.keysLateMax && !isGathered) return
  const file = isGathered ? undefined : openIndex(store, state.id)
  try {
    const index = file !== undefined && isIndexOfLog(log, file) ? file : undefined
    const known = index?.end.last_seq ?? 0
    const late = state.keys.filter(({ seq }) => seq > known)
    const isBehind = known + 1 < state.keys_since
    // One of an earlier version is gathered anew once.
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
  store: FileStore,
  log: LogReader,
  { file, state }: { file: KeyFile | undefined; state: State },
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

/** Undefined where the index does not check. */
function lookUp(
  store: FileStore,
  log: LogReader,
  { file: index, state }: { file: KeyFile; state: State },
  hash: string,
): { place: KeyPlace | undefined } | undefined {
  const isBehind = index.end.last_seq + 1 < state.keys_since
  const late = isBehind ? placesSince(store, log, index, state).get(hash) : undefined
  return late === undefined ? attempt(() => index.find(Buffer.from(hash, 'hex'))) : { place: late }
}

/** Undefined where the record there says nothing of that key. */
function fateAt(
  store: FileStore,
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

/** Undefined where there is none, or it does not check: the log is read then, and says where it is damaged. */
function recordAtPlace(log: LogReader, place: KeyPlace): SessionRecord | undefined {
  try {
    for (const { record } of recordsFrom(log, place)) return record
  } catch (error) {
    if (!(error instanceof SubstratError && error.code === 'CORRUPT')) throw error
  }
  return undefined
}

function write(
  store: FileStore,
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

function openIndex(store: FileStore, agentId: string): KeyFile | undefined {
  return attempt(() => store.keys.open(agentId))
}

/** Undefined where the disk is in the way: what a cache says is in the log too. */
function attempt<T>(read: () => T): T | undefined {
  try {
    return read()
  } catch (error) {
    if (error instanceof SubstratError) return undefined
    throw error
  }
}
