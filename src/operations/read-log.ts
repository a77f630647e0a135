/** `log`: prints the records of a log, and new ones as they are appended. Takes no lock and writes nothing. */
import { sleep } from '../clock.js'
import { missingLog, readState } from '../dispatch/read-state.js'
import { recordsFrom } from '../session/load.js'
import type { SessionRecord } from '../session/records.js'
import type { State } from '../session/state.js'
import { statusNow } from '../session/status-now.js'
import type { Store } from '../storage/store.js'

export interface LogRequest {
  agentId: string
  /** Only this many records from the end; undefined for all. */
  last: number | undefined
  /** Whether a record counts towards `last`. */
  counts(record: SessionRecord): boolean
  follow: boolean
  /** Stop following once no turn runs and no process holds the agent. */
  untilIdle: boolean
  /** Whether stdout still has a reader; checked while following. */
  isRead(): boolean
}

const LOOK_MS = 100

export async function readLog(
  store: Store,
  request: LogRequest,
  onRecord: (record: SessionRecord) => void,
): Promise<void> {
  let from = request.last === undefined ? { seq: 1, offset: 0 } : startOfLast(store, request, request.last)
  for (;;) {
    // Check before the log is read, so that everything written before the agent was idle is printed.
    const isIdle = request.untilIdle && isAtRest(store, readState(store, request.agentId))
    from = printFrom(store, request.agentId, from, onRecord)
    if (!request.follow || isIdle || !request.isRead()) return
    await sleep(LOOK_MS)
  }
}

function isAtRest(store: Store, state: State): boolean {
  return statusNow(store, state) !== 'running' && !store.isHeld(state.id)
}

interface Position {
  seq: number
  offset: number
}

function printFrom(
  store: Store,
  agentId: string,
  from: Position,
  onRecord: (record: SessionRecord) => void,
): Position {
  // Read the state before the log: up to this size, an incomplete record is damage and not a write in progress.
  const completeBytes = readState(store, agentId).log_bytes
  const log = store.openLog(agentId)
  if (log === undefined) throw missingLog(store, agentId)
  try {
    if (log.size() <= from.offset) return from
    const next = { ...from }
    for (const { record, end } of recordsFrom(log, from, undefined, completeBytes)) {
      onRecord(record)
      next.seq = record.seq + 1
      next.offset = end
    }
    return next
  } finally {
    log.close()
  }
}

/** The position of the last `count` records that count, searched from the end. Reading on from there reports damage. */
function startOfLast(store: Store, { agentId, counts }: LogRequest, count: number): Position {
  const log = store.openLog(agentId)
  if (log === undefined) return { seq: 1, offset: 0 }
  try {
    let left = count
    for (const { record, offset } of log.recordsFromEnd()) {
      if (counts(record as unknown as SessionRecord)) left -= 1
      if (left === 0) return { seq: record.seq as number, offset }
    }
    return { seq: 1, offset: 0 }
  } finally {
    log.close()
  }
}
