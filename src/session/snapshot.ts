/**
 * The snapshot: the fold of the log up to `log_bytes`, in one framed line.
 *
 * Invariants: written only after the log was synced, so it is never ahead of it. It is trusted only where the record
 * that ends at `log_bytes` is there with `last_seq`, and what is before it, as far back as it is looked at, is whole: else
 * the whole log is read, and says where it is damaged. It may be lost without losing anything but time.
 */

import { damagedConversation, type SubstratError } from '../errors.js'
import type { JsonObject } from '../format.js'
import { limits } from '../limits.js'
import type { LogReader, Unframed } from '../storage/store.js'
import { snapshotFields } from './snapshot-layout.js'
import type { KeyEntry, Run, State } from './state.js'

/** The version of the fold that wrote it: a program that folds otherwise rebuilds. 2: calls, waits, tokens. 3: mail. 4, 5: programs that wait. 6: a bounded number of keys. 7: whether a program was launched. */
export const SNAPSHOT_VERSION = 7
const ALL_KEYS_VERSION = 5

/** Every snapshot begins with its version; the fields of the state are behind it. */
export const SNAPSHOT_HEAD = `{"snapshot":${SNAPSHOT_VERSION},`

/** What the store writes as the snapshot of that state. */
export function snapshotOf(state: State): object {
  return { snapshot: SNAPSHOT_VERSION, ...snapshotFields(state) }
}

export interface DecodedSnapshot {
  /** Undefined where it is missing, damaged, of another version or does not fit the log: the caller folds the log. */
  state: State | undefined
  /** How much of the log was synced when it was written; 0 where it does not say. */
  claimedBytes: number
  /** What is wrong with it; also undefined where it is only of another version. */
  why?: string | undefined
}

export function decodeSnapshot(
  line: Unframed,
  agentId: string,
  log: LogReader,
  checkedBytes: number = limits.logCheckedForReadBytes,
): DecodedSnapshot {
  if ('damage' in line) return { state: undefined, claimedBytes: 0, why: line.damage }
  const state = stateIn(line.object)
  if (state === undefined) return { state: undefined, claimedBytes: 0 }
  if (state.id !== agentId)
    return {
      state: undefined,
      claimedBytes: 0,
      why: `it is that of ${typeof state.id === 'string' ? `agent ${state.id.slice(0, 36)}` : 'no agent'}`,
    }
  const places = [state.last_seq, state.last_offset, state.log_bytes]
  if (!places.every(Number.isSafeInteger))
    return { state: undefined, claimedBytes: 0, why: 'it names no place' }
  if (state.log_bytes > log.size()) throw aheadOfLog(state, log)
  const last = log.recordAt(state.last_offset, state.log_bytes)
  const distrustedSnapshot = (why: string): DecodedSnapshot => ({
    state: undefined,
    claimedBytes: state.log_bytes,
    why,
  })
  if (last?.seq !== state.last_seq)
    return distrustedSnapshot(`the log has no record ${state.last_seq} that ends at byte ${state.log_bytes}`)
  const synced = { end: state.log_bytes, lastSeq: state.last_seq, bytesMax: checkedBytes }
  if (!log.isWholeBefore(synced))
    return distrustedSnapshot(`the log is damaged before byte ${state.log_bytes}`)
  return { state, claimedBytes: state.log_bytes }
}

/** Undefined where the program that wrote it folded otherwise. */
function stateIn({ snapshot, crc: _, ...state }: JsonObject): State | undefined {
  if (snapshot === SNAPSHOT_VERSION) return state as unknown as State
  return snapshot === ALL_KEYS_VERSION ? withLatestKeys(state as unknown as State) : undefined
}

/** Of a snapshot with all keys: what the fold makes of the same log now. Undefined where only the log says it. */
function withLatestKeys(state: State): State | undefined {
  if (state.lost !== undefined || state.owes.length > 0) return undefined
  const run = completedRun(state.run)
  if (run === undefined) return undefined
  const keys = state.keys.slice(-limits.keysInStateMax)
  const keys_since = state.keys.length > keys.length ? (keys[0] as KeyEntry).seq : 0
  return { ...state, keys, keys_since, run: run as Run | null }
}

/** With the name of today for whether a program was launched: one that has completed without a model was. */
function completedRun(run: State['run']): object | null | undefined {
  if (run === null) return null
  if (run.status !== 'completed') return undefined
  const isOfProgram = run.steps === 0
  return Object.fromEntries(
    Object.entries(run).map(([name, value]) =>
      name === 'hasActed' ? ['hasLaunched', isOfProgram] : [name, value],
    ),
  )
}

/** What it says, not held against the log. Undefined where it is damaged, of another agent, or of an older version that does not say it. */
export function snapshotAlone(line: Unframed, agentId: string): State | undefined {
  const state = 'damage' in line ? undefined : stateIn(line.object)
  return state?.id === agentId ? state : undefined
}

/**
 * A snapshot is written after its records were synced, so a shorter log has lost records that were acknowledged: the
 * one thing that must not be papered over by folding what is left.
 */
function aheadOfLog(state: State, log: LogReader): SubstratError {
  return damagedConversation(
    `${log.path} ends at byte ${log.size()}, but its snapshot knows ${state.last_seq} records in ${state.log_bytes} bytes: acknowledged records are missing`,
    {
      hint: `restore ${log.path} from a backup; to accept it as it stands, move session.json beside it away`,
      facts: { path: log.path, offset: log.size(), seq: state.last_seq },
    },
  )
}
