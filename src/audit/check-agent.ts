/**
 * Checks one agent from its log: the log is intact, the snapshot is its fold, the blobs of its records exist, and the state is
 * valid for an idle session. While a writer holds the agent, only damage is reported.
 */
import { isDeepStrictEqual } from 'node:util'
import { SubstratError } from '../errors.js'
import { readClock } from '../host/identity.js'
import { SNAPSHOT_PREDICATES } from '../schema/generated/snapshot-predicates.js'
import { type Loaded, load, loadFrom } from '../session/load.js'
import { decodeSnapshot, snapshotOf } from '../session/snapshot.js'
import type { State } from '../session/state.js'
import { openWait, waitIsGood } from '../session/status.js'
import type { LogReader, OpenedLog, Store, Unframed } from '../storage/store.js'
import { checkBesideLog } from './check-beside.js'
import { checkKeys, checkKeysQuickly, type OpenKeys, openKeys } from './check-keys.js'
import { checkIdleMail, checkPending } from './check-mail.js'
import { checkRecords } from './check-records.js'
import { type AddFinding, addFindingTo, type Finding, reportUnreadable } from './finding.js'

/** Reads the complete log. Returns the state, or undefined if it cannot be read. */
export function checkAgent(store: Store, agentId: string, findings: Finding[]): State | undefined {
  const found = addFindingTo(findings, agentId)
  return checkGuarded(store, agentId, found, () => {
    // The snapshot is read before the log. If it were newer than our view of the log, records would seem to be missing.
    const snapshot = store.upkeep.readSnapshot(agentId)
    return withKeys(store, agentId, found, (keys, log) => {
      const whole = loadFrom(log, undefined)
      checkSnapshot(agentId, log, snapshot, whole, found)
      checkKeys(store, keys, log, whole.state, found)
      checkRecords(store, agentId, log, found)
      checkState(store, whole.state, whole.damage !== undefined, findings)
      return whole.state
    })
  })
}

/** Reads only the snapshot and the records after it, as commands do. */
export function checkAgentQuickly(store: Store, agentId: string, findings: Finding[]): State | undefined {
  const found = addFindingTo(findings, agentId)
  return checkGuarded(store, agentId, found, () => {
    const snapshot = store.upkeep.readSnapshot(agentId)
    return withKeys(store, agentId, found, (keys, log) => {
      const { state, damage } = load(agentId, log, snapshot)
      sayWhatIsWrong(agentId, log, snapshot, found)
      checkKeysQuickly(keys, log, found)
      checkState(store, state, damage !== undefined, findings)
      return state
    })
  })
}

function withKeys(
  store: Store,
  agentId: string,
  found: AddFinding,
  check: (keys: OpenKeys, log: LogReader) => State,
): State | undefined {
  const keys = openKeys(store, agentId)
  let log: OpenedLog | undefined
  try {
    log = store.openLog(agentId)
    return log === undefined ? reportMissingLog(store, agentId, found) : check(keys, log)
  } finally {
    log?.close()
    keys.index?.close()
  }
}

function checkState(store: Store, state: State, hasTornTail: boolean, findings: Finding[]): void {
  const found = addFindingTo(findings, state.id)
  checkTokens(state, found)
  checkBesideLog(store, state, found)
  checkPending(store, state, found)
  const left: Finding[] = []
  checkAtRest(store, state, hasTornTail, addFindingTo(left, state.id))
  // The lock is probed only if a finding depends on it, because each probe blocks a writer for a moment.
  if (left.length === 0 || store.isHeld(state.id)) return
  findings.push(...left.map((finding) => ({ ...finding, last_seq: state.last_seq })))
}

function checkAtRest(store: Store, state: State, hasTornTail: boolean, found: AddFinding): void {
  if (hasTornTail)
    found('a truncated tail is removed by the next writer', 'the log ends with an incomplete batch')
  if (state.state === 'active')
    found('an active session has a holder', `the state is ${state.state}, but no process holds the agent`)
  const wait = openWait(state)
  if (wait !== null && !waitIsGood(state, wait, readClock()))
    found(
      'a waiting run can still continue',
      'the token of the wait is no longer valid, or its deadline has passed',
    )
  checkIdleMail(store, state, found)
}

/** A token that was handed out may answer only the current wait. */
function checkTokens(state: State, found: AddFinding): void {
  const awaited = openWait(state)?.resume_token_id
  const unawaited = state.tokens.filter(({ token_id, status }) => status === 'minted' && token_id !== awaited)
  if (unawaited.length > 0)
    found(
      'a valid token belongs to the open wait',
      `no open wait has token ${unawaited.map(({ token_id }) => token_id).join(', ')}`,
    )
}

function checkSnapshot(
  agentId: string,
  log: LogReader,
  snapshot: Unframed,
  whole: Loaded,
  found: AddFinding,
): void {
  const wrong = wrongFields(decodeSnapshot(snapshot, agentId, log).state)
  // A state of a wrong shape cannot be folded further: that would look like damage of the log.
  if (wrong.length > 0) {
    found('the snapshot matches the log', `the snapshot has invalid values: ${wrong.join(', ')}`)
    return
  }
  const bySnapshot = load(agentId, log, snapshot).state
  const isOld = bySnapshot.usage === null
  const [known, folded] = [bySnapshot, whole.state].map((state) =>
    JSON.parse(JSON.stringify(snapshotOf(isOld ? withoutLaterFields(state) : state))),
  )
  // The order of fields means nothing: another version may have written them in another one.
  if (!isDeepStrictEqual(known, folded))
    found('the snapshot matches the log', `the snapshot and the log differ at record ${bySnapshot.last_seq}`)
  sayWhatIsWrong(agentId, log, snapshot, found)
}

/** The names of the fields that do not have the shape of a state. Commands trust the checksum and do not look. */
function wrongFields(state: State | undefined): string[] {
  if (state === undefined) return []
  const checks = Object.entries(SNAPSHOT_PREDICATES.state)
  return checks.flatMap(([field, check]) => (check(state[field as keyof State]) ? [] : [field]))
}

/** Without the fields that a snapshot of an earlier version does not have. */
function withoutLaterFields(state: State): State {
  return { ...state, usage: null, recovery: { ...state.recovery, last_boot_seen: null } }
}

function sayWhatIsWrong(agentId: string, log: LogReader, snapshot: Unframed, found: AddFinding): void {
  const { why } = decodeSnapshot(snapshot, agentId, log)
  if (why !== undefined) found('a snapshot is intact', `the snapshot is unusable: ${why}`)
}

function reportMissingLog(store: Store, agentId: string, found: AddFinding): undefined {
  // Another command may have removed the agent since the audit listed it.
  if (store.hasAgent(agentId))
    found('an agent has its log', 'the log is missing', store.label({ kind: 'log', agentId }))
  return undefined
}

/** An error from one agent becomes a finding, so that the audit still checks the others. */
function checkGuarded<T>(
  store: Store,
  agentId: string,
  found: AddFinding,
  check: () => T | undefined,
): T | undefined {
  try {
    return check()
  } catch (error) {
    if (!store.hasAgent(agentId)) return undefined
    const path = store.label({ kind: 'log', agentId })
    const code = error instanceof SubstratError ? error.code : 'CORRUPT'
    if (code === 'UNKNOWN_FORMAT') found('a log has a known format', messageOf(error), path)
    else if (code === 'CORRUPT') found('a log is intact up to its last batch', messageOf(error), path)
    else reportUnreadable(error, path, found)
    return undefined
  }
}

/** A file with correct checksums and content that substrat never writes may cause an error of any class. */
function messageOf(error: unknown): string {
  const { message } = error as Error
  return error instanceof SubstratError ? message : `its content is invalid: ${message}`
}
