/** `log`, and the events of a server: the records of a log, and new ones as they are appended. Takes no lock and writes nothing. */
import { clock, sleep } from '../clock.js'
import { missingLog, readState } from '../dispatch/read-state.js'
import { SubstratError, shellWord } from '../errors.js'
import { recordsFrom } from '../session/load.js'
import { peekState } from '../session/peek-state.js'
import { type SessionRecord, wrongKnownShape } from '../session/records.js'
import { statusNow } from '../session/status-now.js'
import type { OpenedLog, Store } from '../storage/store.js'

type Filter = (record: SessionRecord) => boolean

export interface LogRequest {
  agentId: string
  /** Only this many records from the end; undefined for all. */
  last?: number | undefined
  /** No record before this time. */
  since?: string | undefined
  /** No record before the latest turn. */
  isLastTurn?: boolean
  /** Makes the filter of one pass over the log. Other records are left out, and do not count towards `last`. */
  filter(): Filter
  /** Wait for new records until the agent is terminated. */
  follow: boolean
  /** Stop following once no turn runs and no process holds the agent. */
  untilIdle: boolean
  /** Whether stdout still has a reader; checked while following. */
  isRead(): boolean
}

const LOOK_MS = 100

/** A promise of `onRecord` settles before the next record is read. */
export async function readLog(
  store: Store,
  request: LogRequest,
  onRecord: (record: SessionRecord) => void | Promise<void>,
): Promise<void> {
  let from = startOf(store, request)
  const matches = request.filter()
  const waiter = request.follow ? waiterFor(store, request.agentId) : undefined
  try {
    for (;;) {
      // Check before the log is read, so that everything written before the agent was idle is printed.
      const isLast = waiter === undefined || isAtEnd(store, request)
      from = await printFrom(store, request, from, (record) =>
        matches(record) ? onRecord(record) : undefined,
      )
      if (isLast || !request.isRead()) return
      await waiter.next()
    }
  } finally {
    waiter?.close()
  }
}

/** Waits until the agent may have new records. */
function waiterFor(store: Store, agentId: string): { next(): Promise<void>; close(): void } {
  const { changes } = store
  if (changes === undefined) return { next: () => sleep(LOOK_MS), close: () => undefined }
  let hasNews = false
  const watch = changes.follow(agentId, () => {
    hasNews = true
  })
  const next = async (): Promise<void> => {
    for (let waitedMs = 0; !hasNews && waitedMs < changes.everyMs; waitedMs += LOOK_MS) await sleep(LOOK_MS)
    hasNews = false
  }
  return { next, close: () => watch.close() }
}

function isAtEnd(store: Store, { agentId, untilIdle }: LogRequest): boolean {
  const state = readState(store, agentId)
  if (!untilIdle && state.state !== 'terminated') return false
  return statusNow(store, state) !== 'running' && !store.isHeld(agentId)
}

/** Where to read on: the next record, and the byte where it begins. */
export interface Position {
  seq: number
  offset: number
}

async function printFrom(
  store: Store,
  { agentId, isRead }: LogRequest,
  from: Position,
  onRecord: (record: SessionRecord) => void | Promise<void>,
): Promise<Position> {
  // Read the state before the log: up to this size, an incomplete record is damage and not a write in progress.
  const completeBytes = readState(store, agentId).log_bytes
  const log = store.openLog(agentId)
  if (log === undefined) throw missingLog(store, agentId)
  try {
    if (log.size() <= from.offset) return from
    const next = { ...from }
    for (const { record, end } of recordsFrom(log, from, undefined, completeBytes)) {
      await onRecord(record)
      next.seq = record.seq + 1
      next.offset = end
      if (!isRead()) break
    }
    return next
  } finally {
    log.close()
  }
}

/** Where to begin, searched from the end. Reading on from there reports damage. */
function startOf(store: Store, { agentId, last, since, isLastTurn, filter }: LogRequest): Position {
  const log = store.openLog(agentId)
  if (log === undefined || (last === undefined && since === undefined && isLastTurn !== true))
    return { seq: 1, offset: 0 }
  try {
    let left = last ?? Number.POSITIVE_INFINITY
    const matches = filter()
    let from: Position | undefined
    let newest: Position | undefined
    for (const { record: read, offset } of log.recordsFromEnd()) {
      const record = read as unknown as SessionRecord
      const here = { seq: record.seq, offset }
      newest ??= here
      // The times in a log never decrease.
      if (since !== undefined && record.ts < since) return from ?? endOf(log, newest)
      from = here
      // Reading on reports a record that is not valid. Until then, only its checksum is checked.
      if (last !== undefined && wrongKnownShape(record) === undefined && matches(record)) left -= 1
      if (left === 0 || (isLastTurn === true && beginsTurn(record))) return from
    }
    // An agent without a turn has nothing of its latest turn.
    return isLastTurn === true && newest !== undefined ? endOf(log, newest) : { seq: 1, offset: 0 }
  } finally {
    log.close()
  }
}

/** A run that continues another one belongs to the same turn. */
function beginsTurn(record: SessionRecord): boolean {
  return record.kind === 'run.started' && record.continues === undefined
}

interface RecordPage {
  records: SessionRecord[]
  next: Position
}

export interface PageBounds {
  records: number
  /** The page ends with the record that reaches this size. */
  bytes: number
  /** The caller reads on as the log grows: an incomplete batch at its end is a write in progress, and the state is not read. */
  isFollowing?: true
  /** Receives how long the fsync took, in seconds. */
  onSync?: (seconds: number) => void
}

/**
 * Makes the log durable, then reads on. The reader may have acknowledged these records to someone else, so no crash may take
 * them back or give their numbers to others (durability rule 1).
 */
export function readPage(store: Store, agentId: string, from: Position, bounds: PageBounds): RecordPage {
  // Read the state before the log, for the same reason as `printFrom`.
  const completeBytes = bounds.isFollowing === true ? 0 : readState(store, agentId).log_bytes
  return withLog(store, agentId, (log) => {
    const page: RecordPage = { records: [], next: { ...from } }
    if (log.size() <= from.offset) return page
    const began = clock.monotonic()
    log.sync()
    bounds.onSync?.((clock.monotonic() - began) / 1000)
    for (const { record, end } of recordsFrom(log, from, undefined, completeBytes)) {
      page.records.push(record)
      page.next = { seq: record.seq + 1, offset: end }
      if (page.records.length >= bounds.records || end - from.offset >= bounds.bytes) break
    }
    return page
  })
}

/** The position after the record `seq`; 0 is the beginning. Throws USAGE if the log does not reach that far. */
export function positionAfter(store: Store, agentId: string, seq: number): Position {
  if (seq === 0) return { seq: 1, offset: 0 }
  return withLog(store, agentId, (log) => {
    let next: Position | undefined
    for (const { record, offset } of log.recordsFromEnd()) {
      const here = { seq: record.seq as number, offset }
      if (here.seq < seq) throw pastEnd(agentId, seq, here.seq)
      if (here.seq === seq) return next ?? endOf(log, here)
      next = here
    }
    throw pastEnd(agentId, seq, 0)
  })
}

/** Where the records of the agent itself begin: before it, a fork or an import has those of another agent. */
export function ownRecordsFrom(store: Store, agentId: string): Position {
  const state = peekState(store, agentId)
  if (state === undefined) throw missingLog(store, agentId)
  return state.imported ?? { seq: 1, offset: 0 }
}

/** The size of the log now. Larger than the offset of a position if there may be records to read. */
export function logSize(store: Store, agentId: string): number {
  return withLog(store, agentId, (log) => log.size())
}

function endOf(log: OpenedLog, last: Position): Position {
  for (const { record, end } of recordsFrom(log, last)) return { seq: record.seq + 1, offset: end }
  return last
}

function pastEnd(agentId: string, seq: number, last: number): SubstratError {
  return new SubstratError('USAGE', `agent ${agentId} has no record ${seq}: its log ends at ${last}`, {
    hint: `read it from the beginning: substrat log ${shellWord(agentId)}`,
    facts: { agent_id: agentId, last_seq: last },
  })
}

function withLog<T>(store: Store, agentId: string, read: (log: OpenedLog) => T): T {
  const log = store.openLog(agentId)
  if (log === undefined) throw missingLog(store, agentId)
  try {
    return read(log)
  } finally {
    log.close()
  }
}
