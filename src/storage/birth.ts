/**
 * An agent comes into being by one rename: its directory is built under a temporary name, synced, and renamed into
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

export interface Birth {
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
export async function createAgent(paths: HomePaths, locks: LockSystem, birth: Birth): Promise<Lease> {
  const cradle = paths.spawning(birth.agentId)
  const agent = paths.agent(birth.agentId)
  const marker = paths.marker(birth.agentId)
  // An id that follows from a tool's call is made again where the first attempt died: nobody else makes that one.
  if (statIfThere('spawn.stat', cradle.root) !== undefined) io.removeTree('spawn.leftover', cradle.root)
  let lock: io.OpenFile | undefined
  let log: LockedLog = 'none'
  try {
    lock = await lockCradle(cradle, locks)
    // Behind the cradle and before the agent: whoever finds a marker finds one of the two, or the spawn is dead.
    io.close(io.open('marker.create', marker, 'create'))
    const children = cradle.childNames()
    for (const directory of [cradle.inbox, cradle.blobs, cradle.requests, children.directory])
      io.mkdir('spawn.mkdir', directory)
    // It has no children yet, and says so. Where a power cut takes this file the index is built again.
    io.close(io.open('spawn.children', children.complete, 'create'))
    for (const content of birth.blobs) writeBlob(cradle, content)
    writeNew('spawn.log', cradle.log, birth.log, { isSynced: true })
    // No step that can fail may come between the rename and the lease but the sync of its name.
    log = tryLockLog(locks, cradle.log)
    // A cache of the log: where a power cut spoils it, it is rebuilt.
    writeNew('spawn.snapshot', cradle.snapshot, frame(birth.snapshot), { isSynced: false })
    io.syncDirectory('spawn.sync_directory', cradle.root)
    birth.assertNameHeld?.()
    io.rename('spawn.rename', cradle.root, agent.root)
  } catch (error) {
    attempt(() => io.removeTree('spawn.remove', cradle.root))
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
  const lease = await leaseFrom(locks, { ...lock, path: agent.lock }, birth.command, () => locked)
  if (lease !== undefined) return lease
  throw new SubstratError(
    'LOCKED',
    `agent ${birth.agentId} was taken by another machine as soon as it was made`,
    {
      hint: `look at it: substrat show ${birth.agentId}`,
      facts: { agent_id: birth.agentId },
    },
  )
}

/** How long a sweep is waited for that has our cradle before we could lock it. */
const SWEEP_WAIT_MS = 10_000

/**
 * The cradle, with its lock held, which has its name only then. A sweep may come first, since nothing says yet that we
 * live: then the cradle is made again.
 */
async function lockCradle(cradle: AgentPaths, locks: LockSystem): Promise<io.OpenFile> {
  const start = clock.monotonic()
  for (;;) {
    let lock: io.OpenFile | undefined
    try {
      io.mkdir('spawn.mkdir', cradle.root)
      lock = tryKernelLock(locks.kind, cradle.unlocked, 'exclusive')
      if (lock !== undefined) io.rename('spawn.lock', cradle.unlocked, cradle.lock)
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
export function sweepCradles(paths: HomePaths, locks: LockSystem): number {
  const cradles = io.listDirectory('sweep.list', paths.agents).filter(isSpawnLeftover)
  return cradles.filter((name) => sweepCradle(new AgentPaths(`${paths.agents}/${name}`), locks)).length
}

function sweepCradle(cradle: AgentPaths, locks: LockSystem): boolean {
  const lock = lockDeadCradle(cradle, locks)
  if (lock === undefined) return false
  try {
    io.removeTree('sweep.cradle', cradle.root)
    return true
  } finally {
    io.close(lock)
  }
}

/** Undefined where its spawn lives, has finished, or another sweep has it. */
function lockDeadCradle(cradle: AgentPaths, locks: LockSystem): io.OpenFile | undefined {
  const named = io.openIfThere('sweep.open', cradle.lock, 'write')
  if (named !== undefined) return lockOpenFile(locks.kind, named, 'exclusive')
  let lock: io.OpenFile | undefined
  try {
    // Whoever is about to lock it, or to make it, finds it locked, or gone.
    lock = tryKernelLock(locks.kind, cradle.unlocked, 'exclusive')
  } catch (error) {
    if (isGone(error)) return undefined
    throw error
  }
  if (lock === undefined || statIfThere('sweep.stat', cradle.lock) === undefined) return lock
  // It has got its name since we looked: the file that we have locked is one that we have made.
  io.unlink('sweep.unlink', cradle.unlocked)
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
