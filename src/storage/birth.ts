/**
 * An agent comes into being by one rename: its directory is built under a temporary name, synced, and renamed into
 * place, so that an agent is there whole, with its parent link and its first prompt, or not at all.
 *
 * What is on disk if we die: before the rename a `.spawn-` directory whose lock nobody holds (swept); after it the agent.
 * The rename is acknowledged only after the sync of `agents/`.
 */
import { writeBlob } from './blobs.js'
import * as io from './io.js'
import { tryKernelLock } from './kernel-lock.js'
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
}

/** The agent's lock, held since before anyone could see the agent. */
export async function createAgent(paths: HomePaths, locks: LockSystem, birth: Birth): Promise<Lease> {
  const cradle = paths.spawning(birth.agentId)
  const agent = paths.agent(birth.agentId)
  io.mkdir('spawn.mkdir', cradle.root)
  let lock: io.OpenFile | undefined
  try {
    lock = tryKernelLock(locks.kind, cradle.lock, 'exclusive')
    for (const directory of [cradle.inbox, cradle.blobs, cradle.requests]) io.mkdir('spawn.mkdir', directory)
    for (const content of birth.blobs) writeBlob(cradle, content)
    writeNew('spawn.log', cradle.log, birth.log, { isSynced: true })
    // A cache of the log: where a power cut spoils it, it is rebuilt.
    writeNew('spawn.snapshot', cradle.snapshot, birth.snapshot, { isSynced: false })
    io.syncDirectory('spawn.sync_directory', cradle.root)
    io.rename('spawn.rename', cradle.root, agent.root)
  } catch (error) {
    if (lock !== undefined) io.close(lock)
    removeCradle(cradle.root)
    throw error
  }
  io.syncDirectory('spawn.sync_agents', paths.agents)
  return (await leaseFrom(locks, lock as io.OpenFile, agent.lock, birth.command)) as Lease
}

/** Removes what spawns that died have left. A cradle without a lock file yet is left alone for a minute. */
export function sweepCradles(paths: HomePaths, locks: LockSystem, nowMs: number): number {
  let swept = 0
  for (const name of io.listDirectory('sweep.list', paths.agents).filter(isSpawnLeftover)) {
    const root = `${paths.agents}/${name}`
    const lockPath = `${root}/lock`
    if (io.statIfThere('sweep.stat', lockPath) === undefined) {
      const facts = io.statIfThere('sweep.stat', root)
      if (facts === undefined || nowMs - facts.modifiedMs < 60_000) continue
      io.removeTree('sweep.cradle', root)
    } else {
      const lock = tryKernelLock(locks.kind, lockPath, 'exclusive')
      if (lock === undefined) continue
      io.removeTree('sweep.cradle', root)
      io.close(lock)
    }
    swept += 1
  }
  return swept
}

function removeCradle(root: string): void {
  try {
    io.removeTree('spawn.remove', root)
  } catch {
    // Recovery sweeps it: its lock is free now.
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
