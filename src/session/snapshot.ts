/**
 * The snapshot: the fold of the log up to `log_bytes`, in one framed line.
 *
 * Invariants: written only after the log was synced, so it is never ahead of it. It is trusted only where the record
 * that ends at `log_bytes` is there with `last_seq`. It may be lost without losing anything but time.
 */
import { SubstratError } from '../errors.js'
import { frame, unframe } from '../storage/frame.js'
import { type LogReader, readRecordAt } from '../storage/log.js'
import type { State } from './state.js'

/** The version of the fold that wrote it: a program that folds otherwise rebuilds. 2: calls, waits, tokens. 3: mail. 4, 5: programs that wait. */
export const SNAPSHOT_VERSION = 5

/** Every snapshot begins with its version; the fields of the state are behind it. */
export const SNAPSHOT_HEAD = `{"snapshot":${SNAPSHOT_VERSION},`

export function encodeSnapshot(state: State): Buffer {
  return frame({ snapshot: SNAPSHOT_VERSION, ...state })
}

export interface DecodedSnapshot {
  /** Undefined where it is missing, damaged, of another version or does not fit the log: the caller folds the log. */
  state: State | undefined
  /** How much of the log was synced when it was written; 0 where it does not say. */
  claimedBytes: number
}

export function decodeSnapshot(bytes: Buffer | undefined, agentId: string, log: LogReader): DecodedSnapshot {
  const state = bytes === undefined ? undefined : snapshotState(bytes, agentId)
  if (state === undefined) return { state, claimedBytes: 0 }
  if (state.log_bytes > log.size()) throw aheadOfLog(state, log)
  const last = readRecordAt(log, state.last_offset, state.log_bytes)
  return { state: last?.seq === state.last_seq ? state : undefined, claimedBytes: state.log_bytes }
}

/** What it says, not held against the log yet. */
export function snapshotState(bytes: Buffer, agentId: string): State | undefined {
  const line = unframe(bytes.subarray(0, -1), SNAPSHOT_HEAD)
  if ('damage' in line) return undefined
  const state = line.object as unknown as State
  return state.id === agentId ? state : undefined
}

/**
 * A snapshot is written after its records were synced, so a shorter log has lost records that were acknowledged: the
 * one thing that must not be papered over by folding what is left.
 */
function aheadOfLog(state: State, log: LogReader): SubstratError {
  return new SubstratError(
    'CORRUPT',
    `${log.path} ends at byte ${log.size()}, but its snapshot knows ${state.last_seq} records in ${state.log_bytes} bytes: acknowledged records are missing`,
    {
      hint: `restore ${log.path} from a backup; to accept it as it stands, move session.json beside it away`,
      facts: { path: log.path, offset: log.size(), seq: state.last_seq },
    },
  )
}
