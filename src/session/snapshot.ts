/**
 * The snapshot: the fold of the log up to `log_bytes`, in one framed line.
 *
 * Invariants:
 * - A snapshot is written only after the log is synced, so it is never ahead of the log.
 * - It is trusted only if the record `last_seq` ends at `log_bytes` and the checked bytes before it are intact. Otherwise
 *   the whole log is read, which reports any damage.
 * - Losing a snapshot costs only time.
 */

import { damagedConversation, REBUILD, type SubstratError } from '../errors.js'
import type { JsonObject } from '../format.js'
import { limits } from '../limits.js'
import type { IntactEnd, LogReader, PeekedSnapshot, Unframed } from '../storage/store.js'
import { snapshotFields } from './snapshot-layout.js'
import type { KeyEntry, Run, State } from './state.js'

/**
 * The version of the fold that wrote the snapshot. A program with another version folds the log instead. Version 2 added
 * calls, waits and tokens; 3 mail; 4 and 5 programs that wait; 6 a bounded number of keys; 7 whether a program was launched;
 * 8 usage.
 */
export const SNAPSHOT_VERSION = 8
const UNCOUNTED_VERSION = 7
const ALL_KEYS_VERSION = 5

/** Every snapshot begins with its version. The fields of the state follow, in the same order in these versions. */
export const SNAPSHOT_HEADS = [SNAPSHOT_VERSION, UNCOUNTED_VERSION].map(
  (version) => `{"snapshot":${version},`,
)

/**
 * The object that the store writes as the snapshot of a state. `end`: the end of the log in that state, as far as it is known to be
 * intact. Its checksum saves the next writer the check of each line.
 */
export function snapshotOf(state: State, end?: IntactEnd): object {
  const crc = end?.end === state.log_bytes ? end.checksum() : undefined
  return { snapshot: SNAPSHOT_VERSION, ...snapshotFields(state, crc) }
}

export interface DecodedSnapshot {
  /** Undefined if the snapshot is missing, damaged, of another version or does not match the log. The caller then folds the log. */
  state: State | undefined
  /** The end of the log that the state covers. Undefined without a state. */
  intactEnd?: IntactEnd | undefined
  /** How much of the log was synced when the snapshot was written; 0 if unknown. */
  claimedBytes: number
  /** The reason for distrust, for the user. Undefined for a snapshot that is merely of another version. */
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
      why: `it belongs to ${typeof state.id === 'string' ? `agent ${state.id.slice(0, 36)}` : 'no agent'}`,
    }
  const places = [state.last_seq, state.last_offset, state.log_bytes]
  if (!places.every(Number.isSafeInteger))
    return { state: undefined, claimedBytes: 0, why: 'it does not say where its records end in the log' }
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
  // The checksum covers what a writer checks. A reader checks less of a longer log, so the lines decide there.
  const intactEnd = log.intactEnd({ ...synced, crc: line.object.log_crc })
  if (intactEnd === undefined) return distrustedSnapshot(`the log is damaged before byte ${state.log_bytes}`)
  return { state, intactEnd, claimedBytes: state.log_bytes }
}

/** Undefined if the snapshot is of another version that cannot be converted. */
function stateIn({ snapshot, log_crc: _, crc: __, ...state }: JsonObject): State | undefined {
  if (snapshot === SNAPSHOT_VERSION) return state as unknown as State
  if (snapshot === UNCOUNTED_VERSION) return withoutUsage(state as unknown as State)
  const converted = snapshot === ALL_KEYS_VERSION ? withLatestKeys(state as unknown as State) : undefined
  return converted === undefined ? undefined : withoutUsage(converted)
}

/** Its usage is unknown until the whole log is folded, which the next writer does (`load`). */
function withoutUsage(state: State): State {
  const { last_boot_seen = state.run?.boot_id ?? null, ...recovery } = state.recovery
  return { ...state, recovery: { last_boot_seen, ...recovery }, usage: null }
}

/** Converts a snapshot with all keys to the state that the fold gives now. Undefined if that needs the log. */
function withLatestKeys(state: State): State | undefined {
  if (state.lost !== undefined || state.owes.length > 0) return undefined
  const run = completedRun(state.run)
  if (run === undefined) return undefined
  const keys = state.keys.slice(-limits.keysInStateMax)
  const keys_since = state.keys.length > keys.length ? (keys[0] as KeyEntry).seq : 0
  return { ...state, keys, keys_since, run: run as Run | null }
}

/** Renames `hasActed` to `hasLaunched`. A run that completed without a request to a model had launched a program. */
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

/** The state in a snapshot whose checksum is correct, not checked against the log. Undefined if it is not JSON. */
export function snapshotIn({ head, text }: PeekedSnapshot): State | undefined {
  try {
    return stateIn(JSON.parse(`${head}${text('utf8')}}`) as JsonObject)
  } catch {
    return undefined
  }
}

/** The state in a snapshot, not checked against the log. Undefined if it is damaged, of another agent, or cannot be converted. */
export function snapshotAlone(line: Unframed, agentId: string): State | undefined {
  const state = 'damage' in line ? undefined : stateIn(line.object)
  return state?.id === agentId ? state : undefined
}

/**
 * A snapshot is written after its records are synced, so a shorter log has lost acknowledged records. Folding the remaining
 * records would hide that loss.
 */
function aheadOfLog(state: State, log: LogReader): SubstratError {
  return damagedConversation(
    `${log.path} ends at byte ${log.size()}, but its snapshot covers ${state.last_seq} records in ${state.log_bytes} bytes: acknowledged records are missing`,
    {
      hint: `restore ${log.path} from a backup, or accept the loss: ${REBUILD}`,
      facts: { path: log.path, offset: log.size(), seq: state.last_seq },
    },
  )
}
