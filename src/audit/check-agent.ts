/**
 * One agent, from its log alone: that it is whole, that the snapshot is its fold, that each record's blobs are there, that
 * the state is one that a session can be at rest in. Beside a living writer nothing is found but what is damaged.
 */
import { SubstratError } from '../errors.js'
import { readClock } from '../host/identity.js'
import { type Loaded, load, loadFrom } from '../session/load.js'
import { decodeSnapshot, snapshotOf } from '../session/snapshot.js'
import type { State } from '../session/state.js'
import { openWait, waitIsGood } from '../session/status.js'
import type { FileStore, LogReader, OpenedLog, Unframed } from '../storage/store.js'
import { checkBesideLog } from './check-beside.js'
import { checkKeys, checkKeysQuickly, type OpenKeys, openKeys } from './check-keys.js'
import { checkIdleMail, checkPending } from './check-mail.js'
import { checkRecords } from './check-records.js'
import { type AddFinding, addFindingTo, type Finding, reportUnreadable } from './finding.js'

/** Its whole log, to the last byte; its state, where it can be read. */
export function checkAgent(store: FileStore, agentId: string, findings: Finding[]): State | undefined {
  const found = addFindingTo(findings, agentId)
  return checkGuarded(store, agentId, found, () => {
    // First: a snapshot that is newer than our view of the log would look as if records were missing.
    const snapshot = store.snapshots.read(agentId)
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

/** What commands go by: the snapshot and what is behind it. */
export function checkAgentQuickly(store: FileStore, agentId: string, findings: Finding[]): State | undefined {
  const found = addFindingTo(findings, agentId)
  return checkGuarded(store, agentId, found, () => {
    const snapshot = store.snapshots.read(agentId)
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
  store: FileStore,
  agentId: string,
  found: AddFinding,
  check: (keys: OpenKeys, log: LogReader) => State,
): State | undefined {
  const keys = openKeys(store, agentId)
  let log: OpenedLog | undefined
  try {
    log = store.logs.openForRead(agentId)
    return log === undefined ? reportMissingLog(store, agentId, found) : check(keys, log)
  } finally {
    log?.close()
    keys.index?.close()
  }
}

function checkState(store: FileStore, state: State, hasTornTail: boolean, findings: Finding[]): void {
  const found = addFindingTo(findings, state.id)
  checkTokens(state, found)
  checkBesideLog(store, state, found)
  checkPending(store, state, found)
  const left: Finding[] = []
  checkAtRest(store, state, hasTornTail, addFindingTo(left, state.id))
  // The lock is probed only where something depends on it: each probe is in a writer's way for a moment.
  if (left.length === 0 || store.isAgentHeld(state.id)) return
  findings.push(...left.map((finding) => ({ ...finding, last_seq: state.last_seq })))
}

function checkAtRest(store: FileStore, state: State, hasTornTail: boolean, found: AddFinding): void {
  if (hasTornTail) found('a truncated tail is removed by the next writer', 'the log ends in half a batch')
  if (state.state === 'active')
    found('an active session has a holder', `state is ${state.state}: its process is gone`)
  const wait = openWait(state)
  if (wait !== null && !waitIsGood(state, wait, readClock()))
    found('a waiting run can still continue', 'its token is worth nothing any more, or its time is over')
  checkIdleMail(store, state, found)
}

/** A secret that somebody has must not be good for anything but what is asked now. */
function checkTokens(state: State, found: AddFinding): void {
  const awaited = openWait(state)?.resume_token_id
  const unawaited = state.tokens.filter(({ token_id, status }) => status === 'minted' && token_id !== awaited)
  if (unawaited.length > 0)
    found('a valid token belongs to the open wait', unawaited.map(({ token_id }) => token_id).join(', '))
}

function checkSnapshot(
  agentId: string,
  log: LogReader,
  snapshot: Unframed,
  whole: Loaded,
  found: AddFinding,
): void {
  const bySnapshot = load(agentId, log, snapshot).state
  const [known, folded] = [bySnapshot, whole.state].map((state) => JSON.stringify(snapshotOf(state)))
  if (known !== folded) found('the snapshot matches the log', `they differ at record ${bySnapshot.last_seq}`)
  sayWhatIsWrong(agentId, log, snapshot, found)
}

function sayWhatIsWrong(agentId: string, log: LogReader, snapshot: Unframed, found: AddFinding): void {
  const { why } = decodeSnapshot(snapshot, agentId, log)
  if (why !== undefined) found('a snapshot is intact', why)
}

function reportMissingLog(store: FileStore, agentId: string, found: AddFinding): undefined {
  // Or the agent was taken away since it was listed.
  if (store.hasAgent(agentId)) found('an agent has its log', 'it is missing', store.logPath(agentId))
  return undefined
}

/** Whatever is wrong with one agent is a finding, and keeps no other from being looked at. */
function checkGuarded<T>(
  store: FileStore,
  agentId: string,
  found: AddFinding,
  check: () => T | undefined,
): T | undefined {
  try {
    return check()
  } catch (error) {
    if (!store.hasAgent(agentId)) return undefined
    const path = store.logPath(agentId)
    const code = error instanceof SubstratError ? error.code : 'CORRUPT'
    if (code === 'UNKNOWN_FORMAT') found('a log has a known format', messageOf(error), path)
    else if (code === 'CORRUPT') found('a log is intact up to its last batch', messageOf(error), path)
    else reportUnreadable(error, path, found)
    return undefined
  }
}

/** Bytes that check, and still are nothing that we ever wrote, are met by errors of any kind. */
function messageOf(error: unknown): string {
  const { message } = error as Error
  return error instanceof SubstratError ? message : `it cannot be understood: ${message}`
}
