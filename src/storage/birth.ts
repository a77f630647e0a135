/**
 * An agent comes into being by one rename: its directory is built under a temporary name, synced, and renamed into
 * place, so that an agent is there whole, with its parent link and its first prompt, or not at all.
 *
 * What is on disk if we die: before the rename a `.spawn-` directory whose lock nobody holds (swept); after it the agent.
 * The rename is acknowledged only after the sync of `agents/`.
 */
import { assert, SubstratError } from '../errors.js'
import { writeBlob } from './blobs.js'
import * as io from './io.js'
import { lockOpenFile, tryKernelLock } from './kernel-lock.js'
import { type Lease, type LockSystem, leaseFrom } from './lease.js'
import { type HomePaths, isSpawnLeftover } from './paths.js'

export interface Birth {
  agentId: string
  /** The first batch of the log, framed. */
  log: Buffer
  snapshot: Buffer
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
  if (io.statIfThere('spawn.stat', cradle.root) !== undefined) io.removeTree('spawn.leftover', cradle.root)
  io.mkdir('spawn.mkdir', cradle.root)
  let lock: io.OpenFile | undefined
  try {
    // Named when it is locked: a sweep takes a lock file that nobody holds for a dead spawn's.
    lock = tryKernelLock(locks.kind, cradle.unlocked, 'exclusive')
    assert(lock !== undefined, 'nobody else knows the lock of an agent that is being made')
    io.rename('spawn.lock', cradle.unlocked, cradle.lock)
    // Behind the cradle and before the agent: whoever finds a marker finds one of the two, or the spawn is dead.
    io.close(io.open('marker.create', marker, 'create'))
    const children = cradle.childNames()
    for (const directory of [cradle.inbox, cradle.blobs, cradle.requests, children.directory])
      io.mkdir('spawn.mkdir', directory)
    // It has no children yet, and says so. Where a power cut takes this file the index is built again.
    io.close(io.open('spawn.children', children.complete, 'create'))
    for (const content of birth.blobs) writeBlob(cradle, content)
    writeNew('spawn.log', cradle.log, birth.log, { isSynced: true })
    // A cache of the log: where a power cut spoils it, it is rebuilt.
    writeNew('spawn.snapshot', cradle.snapshot, birth.snapshot, { isSynced: false })
    io.syncDirectory('spawn.sync_directory', cradle.root)
    birth.assertNameHeld?.()
    io.rename('spawn.rename', cradle.root, agent.root)
  } catch (error) {
    attempt(() => io.removeTree('spawn.remove', cradle.root))
    attempt(() => io.unlink('marker.unlink', marker))
    if (lock !== undefined) io.close(lock)
    throw error
  }
  try {
    io.syncDirectory('spawn.sync_agents', paths.agents)
  } catch (error) {
    io.close(lock)
    throw error
  }
  const lease = await leaseFrom(locks, { ...lock, path: agent.lock }, birth.command)
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

/** Removes what spawns that died have left. A cradle without a lock file yet is left alone for a minute. */
export function sweepCradles(paths: HomePaths, locks: LockSystem, nowMs: number): number {
  let swept = 0
  for (const name of io.listDirectory('sweep.list', paths.agents).filter(isSpawnLeftover)) {
    const root = `${paths.agents}/${name}`
    // Never made here: its spawn may have finished, or another sweep be done with it, since the list was read.
    const file = io.openIfThere('sweep.open', `${root}/lock`, 'write')
    if (file === undefined) {
      const facts = io.statIfThere('sweep.stat', root)
      if (facts === undefined || nowMs - facts.modifiedMs < 60_000) continue
      io.removeTree('sweep.cradle', root)
    } else {
      const lock = lockOpenFile(locks.kind, file, 'exclusive')
      if (lock === undefined) continue
      try {
        io.removeTree('sweep.cradle', root)
      } finally {
        io.close(lock)
      }
    }
    swept += 1
  }
  return swept
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
