/**
 * An agent is created by one rename: its directory is built under a temporary name, synced, and renamed into
 * place, so that an agent is there whole, with its parent link and its first prompt, or not at all.
 *
 * What is on disk if we die: before the rename a `.spawn-` directory whose lock nobody holds (swept); after it the agent.
 * The rename is acknowledged only after the sync of `agents/`.
 */
import { clock, sleep } from '../clock.js'
import { assert, SubstratError } from '../errors.js'
import { statIfThere } from '../host/disk/facts.js'
import * as io from '../host/disk/io.js'
import { lockOpenFile, tryKernelLock } from './locks/kernel-lock.js'
import { type Lease, type LockSystem, leaseFrom } from './locks/lease.js'
import { type LockedLog, tryLockLog } from './locks/log-lock.js'
import { writeBlob } from './log/blobs.js'
import { frame } from './log/frame.js'
import { AgentPaths, type HomePaths, isSpawnLeftover } from './paths.js'

export interface NewAgentFiles {
  agentId: string
  /** The first batch of the log, framed. */
  log: Buffer
  snapshot: object
  /** Content that the first batch names. */
  blobs: Buffer[]
  command: string
  /** Throws where the index that has its name is no longer locked by us. */
  assertNameHeld?: () => void
}

/** The agent's lock, held since before anyone could see the agent. */
export async function createAgent(paths: HomePaths, locks: LockSystem, files: NewAgentFiles): Promise<Lease> {
  const staging = paths.spawning(files.agentId)
  const agent = paths.agent(files.agentId)
  const marker = paths.marker(files.agentId)
  // An id that follows from a tool's call is made again where the first attempt died: nobody else makes that one.
  if (statIfThere('spawn.stat', staging.root) !== undefined) io.removeTree('spawn.leftover', staging.root)
  let lock: io.OpenFile | undefined
  let log: LockedLog = 'none'
  try {
    lock = await lockStaging(staging, locks)
    // After the staging directory and before the agent: a marker without either is left by a dead spawn.
    io.close(io.open('marker.create', marker, 'create'))
    const children = staging.childNames()
    for (const directory of [staging.inbox, staging.blobs, staging.requests, children.directory])
      io.mkdir('spawn.mkdir', directory)
    // It has no children yet, and says so. Where a power cut takes this file the index is built again.
    io.close(io.open('spawn.children', children.complete, 'create'))
    for (const content of files.blobs) writeBlob(staging, content)
    writeNew('spawn.log', staging.log, files.log, { isSynced: true })
    // No step that can fail may come between the rename and the lease but the sync of its name.
    log = tryLockLog(locks, staging.log)
    // A cache of the log: where a power cut spoils it, it is rebuilt.
    writeNew('spawn.snapshot', staging.snapshot, frame(files.snapshot), { isSynced: false })
    io.syncDirectory('spawn.sync_directory', staging.root)
    files.assertNameHeld?.()
    io.rename('spawn.rename', staging.root, agent.root)
  } catch (error) {
    attempt(() => io.removeTree('spawn.remove', staging.root))
    attempt(() => io.unlink('marker.unlink', marker))
    closeAll(lock, log)
    throw error
  }
  try {
    io.syncDirectory('spawn.sync_agents', paths.agents)
  } catch (error) {
    closeAll(lock, log)
    throw error
  }
  const locked = typeof log === 'string' ? log : { ...log, path: agent.log }
  const lease = await leaseFrom(locks, { ...lock, path: agent.lock }, files.command, () => locked)
  if (lease !== undefined) return lease
  throw new SubstratError(
    'LOCKED',
    `agent ${files.agentId} was taken by another machine as soon as it was made`,
    {
      hint: `look at it: substrat show ${files.agentId}`,
      facts: { agent_id: files.agentId },
    },
  )
}

/** How long to wait for a sweep that took our staging directory before we could lock it. */
const SWEEP_WAIT_MS = 10_000

/**
 * The staging directory, with its lock held, which has its name only then. A sweep may come first, since nothing says yet that we
 * live: then the directory is made again.
 */
async function lockStaging(staging: AgentPaths, locks: LockSystem): Promise<io.OpenFile> {
  const start = clock.monotonic()
  for (;;) {
    let lock: io.OpenFile | undefined
    try {
      io.mkdir('spawn.mkdir', staging.root)
      lock = tryKernelLock(locks.kind, staging.unlocked, 'exclusive')
      if (lock !== undefined) io.rename('spawn.lock', staging.unlocked, staging.lock)
    } catch (error) {
      if (lock !== undefined) io.close(lock)
      lock = undefined
      if (!isGone(error)) throw error
    }
    if (lock !== undefined) return lock
    assert(clock.monotonic() - start < SWEEP_WAIT_MS, 'a sweep does not hold the cradle of an agent for long')
    await sleep(2)
  }
}

function isGone(error: unknown): boolean {
  return error instanceof SubstratError && error.facts.errno === 'ENOENT'
}

/** Removes what spawns that died have left: no clock says which those are, but the lock, under either of its names. */
export function sweepStaging(paths: HomePaths, locks: LockSystem): number {
  const leftovers = io.listDirectory('sweep.list', paths.agents).filter(isSpawnLeftover)
  return leftovers.filter((name) => sweepStagingOf(new AgentPaths(`${paths.agents}/${name}`), locks)).length
}

function sweepStagingOf(staging: AgentPaths, locks: LockSystem): boolean {
  const lock = lockDeadStaging(staging, locks)
  if (lock === undefined) return false
  try {
    io.removeTree('sweep.cradle', staging.root)
    return true
  } finally {
    io.close(lock)
  }
}

/** Undefined where its spawn lives, has finished, or another sweep has it. */
function lockDeadStaging(staging: AgentPaths, locks: LockSystem): io.OpenFile | undefined {
  const named = io.openIfThere('sweep.open', staging.lock, 'write')
  if (named !== undefined) return lockOpenFile(locks.kind, named, 'exclusive')
  let lock: io.OpenFile | undefined
  try {
    // Whoever is about to lock it, or to make it, finds it locked, or gone.
    lock = tryKernelLock(locks.kind, staging.unlocked, 'exclusive')
  } catch (error) {
    if (isGone(error)) return undefined
    throw error
  }
  if (lock === undefined || statIfThere('sweep.stat', staging.lock) === undefined) return lock
  // It has got its name since we looked: the file that we have locked is one that we have made.
  io.unlink('sweep.unlink', staging.unlocked)
  io.close(lock)
  return undefined
}

function closeAll(lock: io.OpenFile | undefined, log: LockedLog): void {
  if (typeof log !== 'string') io.close(log)
  if (lock !== undefined) io.close(lock)
}

/** What cannot be removed now is swept by recovery: the lock is free then. */
function attempt(removal: () => void): void {
  try {
    removal()
  } catch {
    // The error that is on its way says why.
  }
}

function writeNew(point: string, path: string, bytes: Buffer, options: { isSynced: boolean }): void {
  const file = io.open(`${point}.open`, path, 'create_exclusive')
  try {
    io.writeAll(`${point}.write`, file, bytes, 0)
    if (options.isSynced) io.fsync(`${point}.fsync`, file)
  } finally {
    io.close(file)
  }
}
