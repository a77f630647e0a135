/** Loads a state from disk: a trusted snapshot and the records after it, or else the whole log. */
import { damagedConversation, REBUILD, SessionStateError, SubstratError } from '../errors.js'
import { isKnownFormat } from '../format.js'
import type {
  IntactEnd,
  LogDamage,
  LoggedRecord,
  LogReader,
  OpenedAgent,
  Store,
  Unframed,
} from '../storage/store.js'
import { fold } from './fold/fold.js'
import {
  kindInWords,
  kindIsKnown,
  type RecordKind,
  type SessionRecord,
  unknownWordIn,
  wrongShape,
} from './records.js'
import { decodeSnapshot } from './snapshot.js'
import type { Location, State } from './state.js'

export interface Loaded {
  state: State
  /** How much of the log the snapshot on disk covers; -1 without a trusted snapshot. */
  snapshotBytes: number
  /** A truncated tail: the incomplete last batch, which counts as not written. */
  damage: LogDamage | undefined
  /** The writers have synced every byte before this: the end of the snapshot, or the beginning of the last batch. */
  syncedBytes: number
  /** The end of the log, if the snapshot covers all of it. */
  intactEnd?: IntactEnd
}

/** Reads the complete batches of the log. Undefined if the agent does not exist. */
export function openForRead(store: Store, agentId: string): Loaded | undefined {
  return readAgent(store, agentId, false)
}

/**
 * Like `openForRead`, but fsyncs first. Use it before acknowledging what was read: the writer may not have synced yet, or may
 * have died before its fsync (durability rule 1).
 */
export function openDurable(store: Store, agentId: string): Loaded | undefined {
  return readAgent(store, agentId, true)
}

function readAgent(store: Store, agentId: string, isDurable: boolean): Loaded | undefined {
  return withAgent(store, agentId, (loaded, { log }) => {
    if (isDurable && loaded.state.log_bytes > loaded.snapshotBytes) log.sync()
    return loaded
  })
}

/** Like `openForRead`, for a caller that reads more of the agent at the same moment. */
export function withAgent<T>(
  store: Store,
  agentId: string,
  use: (loaded: Loaded, opened: OpenedAgent) => T,
): T | undefined {
  const opened = store.open(agentId)
  if (opened === undefined) return undefined
  try {
    return use(load(agentId, opened.log, opened.snapshot), opened)
  } finally {
    opened.log.close()
  }
}

/**
 * Read `snapshot` before opening the log. A writer may be active, and if the snapshot were newer than our view of the log,
 * records would seem to be missing.
 *
 * Throws CORRUPT for damage that no crash leaves, and UNKNOWN_FORMAT for records of a newer program.
 */
export function load(agentId: string, log: LogReader, snapshot: Unframed, checkedBytes?: number): Loaded {
  const { state, intactEnd, claimedBytes } = decodeSnapshot(snapshot, agentId, log, checkedBytes)
  const loaded = loadFrom(log, state)
  const { damage } = loaded
  // A snapshot is written after its records are synced, so damage before its end has hit acknowledged records.
  if (damage !== undefined && damage.offset < claimedBytes) throw corruptError(log, damage)
  return loaded.state.log_bytes === intactEnd?.end ? { ...loaded, intactEnd } : loaded
}

/**
 * The state with its usage, which a snapshot of an earlier version does not have: the whole log is folded once more. The usage
 * stays unknown if there is damage in a part of the log that `load` does not check again. That damage stops no turn, and its
 * batch must not be cut as a truncated tail, because the snapshot proves that it was acknowledged.
 */
export function withUsage(loaded: Loaded, log: LogReader): Loaded {
  if (loaded.state.usage !== null) return loaded
  try {
    const { state } = loadFrom(log, undefined)
    return state.last_seq === loaded.state.last_seq ? { ...loaded, state, snapshotBytes: -1 } : loaded
  } catch (error) {
    if (error instanceof SubstratError && error.code === 'CORRUPT') return loaded
    throw error
  }
}

/** The fold of the log after `snapshot`, or of the whole log if that is undefined. Throws like `load`. */
export function loadFrom(log: LogReader, snapshot: State | undefined): Loaded {
  let state = snapshot
  let lastBatchStart = snapshot?.log_bytes ?? 0
  const scan = log.batches({ offset: snapshot?.log_bytes ?? 0, seq: (snapshot?.last_seq ?? 0) + 1 })
  let step = scan.next()
  for (; step.done !== true; step = scan.next()) {
    for (const logged of step.value) state = foldLogged(state, logged, log)
    lastBatchStart = step.value[0]?.offset ?? lastBatchStart
  }
  const { damage } = step.value
  if (damage?.kind === 'corrupt' || state === undefined) {
    throw corruptError(log, damage ?? { offset: 0, seq: 1, reason: 'it is empty' })
  }
  const snapshotBytes = snapshot?.log_bytes ?? -1
  return {
    state,
    snapshotBytes,
    damage,
    syncedBytes: snapshot === undefined ? lastBatchStart : snapshot.log_bytes,
  }
}

/**
 * The fold of the batches before the first damage, without the snapshot. For a rebuild, which continues from these batches.
 * Throws UNKNOWN_FORMAT.
 */
export function foldWholePart(log: LogReader): State | undefined {
  let state: State | undefined
  const scan = log.batches({ offset: 0, seq: 1 })
  let step = scan.next()
  for (; step.done !== true; step = scan.next()) {
    let next = state
    try {
      for (const logged of step.value) next = foldLogged(next, logged, log)
    } catch (error) {
      if (!(error instanceof SubstratError && error.code === 'CORRUPT')) throw error
      return state
    }
    state = next
  }
  return state
}

/** The record at a place that the state names. */
export function recordAt(log: LogReader, at: Location): SessionRecord {
  const record = log.recordAt(at.offset, at.end)
  if (record === undefined) throw corruptError(log, { ...at, reason: 'it is not an intact record' })
  return checkRecord({ ...at, record }, log)
}

/**
 * The records from one place in the log up to another. `completeBytes`: how much of the log is known to consist of complete
 * batches. An incomplete batch within it is damage, not a truncated tail.
 */
export function* recordsFrom(
  log: LogReader,
  from: Pick<Location, 'seq' | 'offset'>,
  to = Number.POSITIVE_INFINITY,
  completeBytes = 0,
): Generator<{ record: SessionRecord; end: number }> {
  const scan = log.batches({ offset: from.offset, seq: from.seq, isWithinBatch: true })
  for (let step = scan.next(); ; step = scan.next()) {
    if (step.done === true) {
      const { damage } = step.value
      if (damage !== undefined && (damage.kind === 'corrupt' || damage.offset < completeBytes))
        throw corruptError(log, damage)
      return
    }
    for (const logged of step.value) {
      if (logged.offset >= to) return
      yield { record: checkRecord(logged, log), end: logged.end }
    }
  }
}

/** The records of some kinds in `[from, to)`. The caller knows that this range is synced. */
export function* recordsOfKinds<K extends RecordKind>(
  log: LogReader,
  from: Pick<Location, 'seq' | 'offset'>,
  to: number,
  kinds: readonly K[],
): Generator<{ record: SessionRecord<K>; offset: number }> {
  const scan = log.recordsOfKinds(from, to, kinds)
  let step = scan.next()
  for (; step.done !== true; step = scan.next())
    yield { record: checkRecord(step.value, log) as SessionRecord<K>, offset: step.value.offset }
  if (step.value !== undefined) throw corruptError(log, step.value)
}

function corruptError(log: LogReader, at: { offset: number; seq: number; reason: string }): SubstratError {
  return damagedConversation(`${log.path} is damaged at byte ${at.offset}, record ${at.seq}: ${at.reason}`, {
    hint: `restore the file from a backup, or continue from its undamaged part, before that byte: ${REBUILD}`,
    facts: { path: log.path, offset: at.offset, seq: at.seq },
  })
}

function foldLogged(state: State | undefined, logged: LoggedRecord, log: LogReader): State {
  const record = checkRecord(logged, log)
  const format = formatFrom(record)
  if (format !== undefined && !isKnownFormat(format)) throw unknownTo(log, logged, `format ${format}`)
  try {
    // Only these fields of `logged`: the state stores the location, and its other fields must not get into the snapshot.
    const { seq, offset, end } = logged
    return fold(state, record, { seq, offset, end })
  } catch (error) {
    if (error instanceof SessionStateError) throw corruptError(log, { ...logged, reason: error.message })
    throw error
  }
}

/** The format of this record and the following ones, if it begins a format. */
function formatFrom(record: SessionRecord): number | undefined {
  if (record.kind === 'session.created') return record.format
  return record.kind === 'session.upgraded' ? record.to_format : undefined
}

function checkRecord(logged: LoggedRecord, log: LogReader): SessionRecord {
  const wrong = wrongShape(logged.record)
  if (wrong === undefined) return logged.record as unknown as SessionRecord
  if (!kindIsKnown(logged.record.kind))
    throw unknownTo(log, logged, `kind ${kindInWords(logged.record.kind)}`)
  const word = unknownWordIn(logged.record)
  if (word !== undefined) throw unknownTo(log, logged, word)
  throw corruptError(log, { ...logged, reason: wrong })
}

function unknownTo(log: LogReader, at: { offset: number; seq: number }, what: string): SubstratError {
  return new SubstratError(
    'UNKNOWN_FORMAT',
    `${log.path}, record ${at.seq}: this program does not know ${what}`,
    {
      hint: 'use the version of substrat that wrote it, or a newer one',
      facts: { path: log.path, offset: at.offset, seq: at.seq },
    },
  )
}
