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
import { KEY_HASH_BYTES } from '../format.js'
import { limits } from '../limits.js'
import { sha256Hex } from '../start/hash.js'
import type { FileStore, KeptKeys, KeyFile, KeyPlace, LogReader, OpenedLog } from '../storage/store.js'
import { recordsFrom, recordsOfKinds } from './load.js'
import type { SessionRecord } from './records.js'
import type { KeyEntry, State } from './state.js'

const MINUTE_MS = 60_000

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

/** Whether both stand for the same text. */
export function isSameKey(a: string, b: string): boolean {
  return a === b || a.normalize('NFC') === b.normalize('NFC')
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

/** Every key of the log by its hash, as the index is to have them: where its latest run begins. */
export function placesInLog(
  store: FileStore,
  agentId: string,
  log: LogReader,
  to: number,
): Map<string, KeyPlace> {
  const places = new Map<string, KeyPlace>()
  gather(places, log, { seq: 1, offset: 0 }, to, hashesFrom(store, agentId))
  return places
}

/** All of it from the log, whatever it says. Under the agent's lock, when all of the log is synced. */
export function rebuildKeyIndex(store: FileStore, log: LogReader, state: State): void {
  inMemory(store).delete(state.id)
  write(store, log, state, gathered(store, log, state))
  inMemory(store).delete(state.id)
}

/** Which keys are not to be forgotten. */
export function keptKeysAt({ updated_at }: State): KeptKeys {
  // The earlier of the two: keys outlive a log that is ahead of the clock.
  const now = Math.min(minuteOf(updated_at), Math.floor(clock.now() / MINUTE_MS))
  const keptMinutes = limits.keysKeptMs / MINUTE_MS
  return { minuteMin: now - keptMinutes, keysMin: limits.keysKeptMin, keptMinutes }
}

/** Whether the last record that the index knows is in this log. */
export function isOf(log: LogReader, { end }: KeyFile): boolean {
  return log.checksumAt(end.last_seq, end.last_offset, end.log_bytes) === end.record_crc
}

/** By which a key of that form is found in the index. */
export function hashOfKey(key: string): string {
  return sha256Hex(key).slice(0, 2 * KEY_HASH_BYTES)
}

/** By which the index has a key: as it was recorded, and by its NFC form, by which it is looked for. */
export function hashesOfKey(key: string): string[] {
  const normal = key.normalize('NFC')
  return normal === key ? [hashOfKey(key)] : [hashOfKey(key), hashOfKey(normal)]
}

/** What `session.rebuilt` says of keys by their hashes alone. */
export function keyHashesIn(
  store: FileStore,
  agentId: string,
  { key_hashes = [], more_key_hashes }: Rebuilt,
): string[] {
  if (more_key_hashes === undefined) return key_hashes
  const hex = store.readBlob(agentId, more_key_hashes).toString('hex')
  return [...key_hashes, ...(hex.match(new RegExp(`.{${2 * KEY_HASH_BYTES}}`, 'g')) ?? [])]
}

function writeWhereDue(store: FileStore, log: LogReader, state: State): void {
  const isGathered = inMemory(store).has(state.id)
  if (state.keys.length < limits.keysLateMax && !isGathered) return
  const file = isGathered ? undefined : openIndex(store, state.id)
  try {
    const index = file !== undefined && isOf(log, file) ? file : undefined
    const known = index?.end.last_seq ?? 0
    const late = state.keys.filter(({ seq }) => seq > known)
    const isBehind = known + 1 < state.keys_since
    // One of an earlier version is gathered anew once.
    const isByForm = index?.isByForm !== false
    if (index !== undefined && isByForm && !isBehind && late.length < limits.keysLateMax) return
    const entries = index === undefined ? undefined : attempt(() => index.entries())
    if (!isByForm) write(store, log, state, gathered(store, log, state))
    else if (!isBehind && (index === undefined || entries !== undefined))
      write(store, log, state, placesOf(late), entries)
    else if (index !== undefined && entries !== undefined)
      write(store, log, state, placesSince(store, log, index, state), entries)
    else write(store, log, state, gathered(store, log, state))
    inMemory(store).delete(state.id)
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
  const found = file !== undefined && isOf(log, file) ? lookUp(store, log, { file, state }, hash) : undefined
  if (found !== undefined) {
    if (found.place === undefined && file?.isByForm === true) return undefined
    const fate = found.place === undefined ? undefined : fateAt(store, log, state, found.place, key)
    if (fate !== undefined) return fate
  }
  const place = gathered(store, log, state).get(hash)
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

/** Without a list of all of them, which may be very many. */
function isHashIn(
  store: FileStore,
  agentId: string,
  { key_hashes = [], more_key_hashes }: Rebuilt,
  hash: string,
): boolean {
  if (key_hashes.includes(hash)) return true
  if (more_key_hashes === undefined) return false
  const more = store.readBlob(agentId, more_key_hashes)
  const bytes = Buffer.from(hash, 'hex')
  let at = more.indexOf(bytes)
  while (at !== -1 && at % KEY_HASH_BYTES !== 0) at = more.indexOf(bytes, at + 1)
  return at !== -1
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

interface Gathered {
  places: Map<string, KeyPlace>
  last_seq: number
  log_bytes: number
}

/** What was gathered from a whole log by this process, until it is written: a send asks twice, and writes once. */
const gatheredByStore = new WeakMap<FileStore, Map<string, Gathered>>()

function inMemory(store: FileStore): Map<string, Gathered> {
  const known = gatheredByStore.get(store) ?? new Map<string, Gathered>()
  gatheredByStore.set(store, known)
  return known
}

function gathered(
  store: FileStore,
  log: LogReader,
  { id, last_seq, log_bytes }: State,
): Map<string, KeyPlace> {
  const known = inMemory(store).get(id) ?? { places: new Map(), last_seq: 0, log_bytes: 0 }
  if (known.last_seq < last_seq) {
    const from = { seq: known.last_seq + 1, offset: known.log_bytes }
    gather(known.places, log, from, log_bytes, hashesFrom(store, id))
    inMemory(store).set(id, { places: known.places, last_seq, log_bytes })
  }
  return known.places
}

function placesSince(
  store: FileStore,
  log: LogReader,
  { end }: KeyFile,
  { id, log_bytes }: State,
): Map<string, KeyPlace> {
  const places = new Map<string, KeyPlace>()
  gather(places, log, { seq: end.last_seq + 1, offset: end.log_bytes }, log_bytes, hashesFrom(store, id))
  return places
}

type Rebuilt = Pick<SessionRecord & { kind: 'session.rebuilt' }, 'key_hashes' | 'more_key_hashes'>

function hashesFrom(store: FileStore, agentId: string): (record: Rebuilt) => string[] {
  return (record) => keyHashesIn(store, agentId, record)
}

function gather(
  places: Map<string, KeyPlace>,
  log: LogReader,
  from: { seq: number; offset: number },
  to: number,
  hashesIn: (record: Rebuilt) => string[],
): void {
  for (const { record, offset } of recordsOfKinds(log, from, to, ['run.started', 'session.rebuilt'])) {
    const place = { seq: record.seq, offset, minute: minuteOf(record.ts) }
    const keys = record.kind === 'run.started' && record.key !== undefined ? [record.key] : []
    if (record.kind === 'session.rebuilt') keys.push(...record.keys)
    for (const hash of keys.flatMap(hashesOfKey)) places.set(hash, place)
    if (record.kind !== 'session.rebuilt') continue
    for (const hash of hashesIn(record)) places.set(hash, place)
  }
}

function placesOf(keys: KeyEntry[]): Map<string, KeyPlace> {
  return new Map(
    keys.flatMap(({ key, seq, offset, started_at }) =>
      hashesOfKey(key).map((hash) => [hash, { seq, offset, minute: minuteOf(started_at) }] as const),
    ),
  )
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
    { known, added, kept: keptKeysAt(state) },
  )
}

function minuteOf(time: string): number {
  return Math.floor(Date.parse(time) / MINUTE_MS)
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
