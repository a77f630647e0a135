/**
 * Rebuilds a damaged log from its undamaged part. Only the user may choose this, because it loses acknowledged records. The
 * damaged log and its snapshot are set aside in the same directory.
 *
 * Invariants:
 * - The new log begins with the undamaged batches of the old one, byte for byte. If there are none, its first record is built
 *   from the snapshot.
 * - The agent is idle and on hold, with no open run and no valid token.
 * - The agent is terminated if it was, if its parent is, or if another living agent has its name.
 * - Everything known of the lost part still holds: see `remains.ts`.
 *
 * After a kill at any point the next `--rebuild` starts again, with the same knowledge: see `src/storage/aside.ts`.
 */
import { SubstratError, shellWord } from '../errors.js'
import { FORMAT } from '../format.js'
import { killServerProcesses } from '../provider/kept-server.js'
import { recordsToClose } from '../recovery/close-open.js'
import { killPrograms } from '../recovery/settle.js'
import { encodeBatch } from '../session/batch.js'
import { busyError } from '../session/busy.js'
import { foldWholePart, load, loadFrom } from '../session/load.js'
import { readableState } from '../session/peek-state.js'
import type { NewRecord } from '../session/records.js'
import { snapshotAlone, snapshotOf } from '../session/snapshot.js'
import type { State } from '../session/state.js'
import type { LogReader, Right, Store } from '../storage/store.js'
import { lockChildren, lockRoots } from '../tree/children.js'
import { LostKeys } from './lost-keys.js'
import { type Remains, remainsOf } from './remains.js'

const SERVER_TERMINATE_MS = 1000

export interface RebuildOptions {
  command: string
  note(text: string): void
}

/** Returns a sentence about the rebuild, or undefined if the log is no longer damaged. Throws CORRUPT if neither a record nor the snapshot is intact. */
export async function rebuildLog(
  store: Store,
  agentId: string,
  options: RebuildOptions,
): Promise<string | undefined> {
  const { base } = withLog(store, agentId, (log) => wholePart(store, agentId, log))
  const { index, lock } =
    base.parent === null || !store.hasAgent(base.parent)
      ? await lockRoots(store, options.command)
      : await lockChildren(store, base.parent, options.command)
  try {
    const lease = await store.hold(agentId, { command: options.command, waitMs: 0 })
    if (lease === undefined) throw busyError(store, agentId)
    try {
      if (!isDamaged(store, agentId)) return undefined
      const mayLive = isFree(store, base, index.lookUp(base.name ?? base.id))
      const { state, keysLost } = await rebuildUnderLock(store, agentId, mayLive, { ...options, lease })
      if (state.state !== 'terminated' && (state.parent !== null || state.name !== null))
        index.reserve(state.name ?? state.id, state.id)
      return rebuildSentence(state, keysLost)
    } finally {
      await lease.release()
    }
  } finally {
    await lock.release()
  }
}

/** Whether a command that opens the log, or reads all of it, throws CORRUPT. A truncated tail is not damage. */
function isDamaged(store: Store, agentId: string): boolean {
  try {
    const snapshot = store.upkeep.readSnapshot(agentId)
    return withLog(store, agentId, (log) => {
      if (log === undefined) return true
      load(agentId, log, snapshot)
      loadFrom(log, undefined)
      return false
    })
  } catch (error) {
    if (error instanceof SubstratError && error.code === 'CORRUPT') return true
    throw error
  }
}

interface WholePart {
  /** The state at the end of the undamaged part, or the snapshot's state if that part is empty. */
  base: State
  /** Whether the log has an undamaged part. */
  isLogged: boolean
  snapshot: State | undefined
}

function wholePart(store: Store, agentId: string, log: LogReader | undefined): WholePart {
  const snapshot = snapshotAlone(store.upkeep.readSnapshot(agentId), agentId)
  const state = log === undefined ? undefined : foldWholePart(log)
  const base = state ?? snapshot
  if (base !== undefined) return { base, isLogged: state !== undefined, snapshot }
  const path = store.label({ kind: 'log', agentId })
  throw new SubstratError('CORRUPT', `no batch of ${path} is intact, and there is no usable snapshot`, {
    hint: `restore ${store.label({ kind: 'agent', agentId })} from a backup, or move it out of the home`,
    facts: { path },
  })
}

/** Whether the agent may live. If its parent is dead or another living agent has its name, its lost records included its termination. */
function isFree(store: Store, { id, parent }: State, owner: string | undefined): boolean {
  const isLiving = (other: string): boolean =>
    (readableState(store, other)?.state ?? 'terminated') !== 'terminated'
  if (owner !== undefined && owner !== id && isLiving(owner)) return false
  return parent === null || isLiving(parent)
}

async function rebuildUnderLock(
  store: Store,
  agentId: string,
  mayLive: boolean,
  { note, lease }: RebuildOptions & { lease: Right },
): Promise<{ state: State; keysLost: number }> {
  const { part, remains, bytes } = withLog(store, agentId, (log) => {
    const part = wholePart(store, agentId, log)
    const end = part.isLogged ? part.base : { last_seq: 0, log_bytes: 0 }
    const remains = remainsOf(log, end, part.snapshot, new LostKeys(store, agentId))
    // The end of the open run sends an error for each of that run's own requests.
    const toldBy = part.isLogged && part.base.run?.status === 'open' ? part.base.run.requests : []
    const isTold = (id: string): boolean => toldBy.some(({ message_id }) => message_id === id)
    return {
      part,
      remains: {
        ...remains,
        requests: remains.requests.filter(({ message_id }) => !isTold(message_id)),
      },
      bytes: log?.read(0, end.log_bytes) ?? Buffer.alloc(0),
    }
  })
  const { base, isLogged, snapshot } = part
  if (isLogged) await killPrograms({ store, state: base, leashesLeftMs: undefined }, undefined, note)
  for (const warm of [base.warm, snapshot?.warm])
    if (warm !== undefined) await killServerProcesses(store.address, warm, SERVER_TERMINATE_MS)
  // Stopping programs takes seconds, in which the lock may be lost.
  lease.assertHeld()
  const kept = store.upkeep.keepDamaged(agentId).log ?? 'nothing'
  const records = [
    ...(isLogged ? recordsToClose(base, 'log_damaged') : [createdRecord(base)]),
    ...remains.settings,
    rebuiltRecord(store, agentId, kept, remains),
    ...(mayLive && !remains.isTerminated ? [] : [{ kind: 'session.terminated' } satisfies NewRecord]),
  ]
  // If the undamaged part includes the termination, no later record matters.
  const isOver = isLogged && base.state === 'terminated'
  const batch = encodeBatch(isLogged ? base : undefined, isOver ? [] : records)
  for (const blob of batch.blobs) store.upkeep.writeBlob(agentId, blob)
  store.upkeep.replaceLog(agentId, Buffer.concat([bytes, batch.bytes]), snapshotOf(batch.state))
  store.visits.mark(agentId)
  return { state: batch.state, keysLost: remains.keysLost }
}

function createdRecord(state: State): NewRecord {
  const { id, name, parent, path, instructions, provider_name, options, model, workspace, allow } = state
  const { scope, ...place } = state.workspace_host ?? { scope: 'host' }
  return {
    kind: 'session.created',
    agent_id: id,
    // The snapshot may be of an earlier format, but the records that follow are of this one.
    format: FORMAT,
    name,
    parent,
    ...(parent === null ? {} : { path }),
    instructions,
    provider: provider_name,
    options,
    model,
    workspace,
    ...(allow.length === 0 ? {} : { allow }),
    ...place,
    ...(scope === 'host' ? {} : { workspace_scope: scope }),
  }
}

/** So many hashes fit one line beside its other fields. */
const HASHES_IN_LINE_MAX = 7000

/** The blob is durable before the record that names it. A kill in between leaves an unnamed blob, which is harmless. */
function rebuiltRecord(
  store: Store,
  agentId: string,
  kept: string,
  { last_seq, delivered, requests, keys, key_hashes }: Remains,
): NewRecord {
  const inLine = key_hashes.slice(-HASHES_IN_LINE_MAX)
  const inBlob = Buffer.from(key_hashes.slice(0, -HASHES_IN_LINE_MAX).join(''), 'hex')
  return {
    kind: 'session.rebuilt',
    kept,
    last_seq,
    delivered,
    requests,
    keys,
    ...(inLine.length === 0 ? {} : { key_hashes: inLine }),
    ...(inBlob.length === 0 ? {} : { more_key_hashes: store.upkeep.writeBlob(agentId, inBlob) }),
  }
}

function rebuildSentence({ path, state, lost, last_seq }: State, keysLost: number): string {
  const kept = lost?.kept.at(-1) ?? 'nothing'
  const aside =
    kept === 'nothing' ? 'there was no log to set aside' : `the damaged log was set aside as ${kept}`
  const outcome =
    state === 'terminated'
      ? 'the agent is terminated'
      : `the agent is on hold until you resume it: substrat resume ${shellWord(path)}`
  const keys =
    keysLost === 0
      ? ''
      : `the key index is damaged too, so up to ${keysLost} keys are lost: a message that repeats one of them runs again; `
  return `continues from the undamaged part of its log, now ${last_seq} records; ${aside}; ${keys}${outcome}`
}

function withLog<T>(store: Store, agentId: string, use: (log: LogReader | undefined) => T): T {
  const log = store.openLog(agentId)
  try {
    return use(log)
  } finally {
    log?.close()
  }
}
