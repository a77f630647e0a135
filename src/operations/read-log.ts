/** Reading a log as it stands, and as it grows. Takes no lock and writes nothing. */
import { sleep } from '../clock.js'
import { missingLog, readState } from '../dispatch/read-state.js'
import { recordsFrom } from '../session/load.js'
import type { SessionRecord } from '../session/records.js'
import type { State } from '../session/state.js'
import { statusNow } from '../session/status-now.js'
import type { FileStore } from '../storage/store.js'

export interface LogRequest {
  agentId: string
  /** Only the last so many; undefined for all. */
  last: number | undefined
  /** Whether a record is one of those. */
  counts(record: SessionRecord): boolean
  follow: boolean
  /** Ends following once no turn runs and nothing waits. */
  untilIdle: boolean
  /** Whether there is anybody to print for; asked while following. */
  isRead(): boolean
}

const LOOK_MS = 100

export async function readLog(
  store: FileStore,
  request: LogRequest,
  onRecord: (record: SessionRecord) => void,
): Promise<void> {
  let from = request.last === undefined ? { seq: 1, offset: 0 } : startOfLast(store, request, request.last)
  for (;;) {
    // Looked at before the log: what was written until it was idle is then printed.
    const isIdle = request.untilIdle && isAtRest(store, readState(store, request.agentId))
    from = printFrom(store, request.agentId, from, onRecord)
    if (!request.follow || isIdle || !request.isRead()) return
    await sleep(LOOK_MS)
  }
}

function isAtRest(store: FileStore, state: State): boolean {
  return statusNow(store, state) !== 'running' && !store.isAgentHeld(state.id)
}

interface Position {
  seq: number
  offset: number
}

function printFrom(
  store: FileStore,
  agentId: string,
  from: Position,
  onRecord: (record: SessionRecord) => void,
): Position {
  // Before the log: what is known to be written to its end is whole in it, or damaged.
  const completeBytes = readState(store, agentId).log_bytes
  const log = store.logs.openForRead(agentId)
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

/** Where the last `count` records that count begin, found from the end. Damage is reported by whoever reads on from there. */
function startOfLast(store: FileStore, { agentId, counts }: LogRequest, count: number): Position {
  const log = store.logs.openForRead(agentId)
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
