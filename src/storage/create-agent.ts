/**
 * One rename creates an agent. Its directory is built under a temporary name (the staging directory), fsynced, and
 * renamed into place. So an agent exists whole, with its parent link and first prompt, or not at all.
 *
 * A crash before the rename leaves a `.spawn-` directory with a free lock, which recovery sweeps. A crash after the
 * rename leaves the agent. The rename is acknowledged only after the fsync of `agents/`.
 */
import { clock, sleep } from '../clock.js'
import { assert, SubstratError } from '../errors.js'
import { statIfThere } from '../host/disk/facts.js'
import * as io from '../host/disk/io.js'
import { createdElsewhere } from './agent-gone.js'
import { lockOpenFile, tryKernelLock } from './locks/kernel-lock.js'
import { type KernelLease, type LockSystem, leaseFrom } from './locks/lease.js'
import { type LockedLog, tryLockLog } from './locks/log-lock.js'
import { writeBlob } from './log/blobs.js'
import { frame } from './log/frame.js'
import { AgentPaths, type HomePaths, isSpawnLeftover } from './paths.js'

export interface NewAgentFiles {
  agentId: string
  /** The first batch of the log, framed. */
  log: Buffer
  snapshot: object
  /** Content of the blobs that the first batch references. */
  blobs: Buffer[]
  command: string
  /** Throws if this process no longer holds the lock of the name index. */
  assertNameHeld?: () => void
}

/** Returns the agent's lock, which is taken before the agent becomes visible. */
export async function createAgent(
  paths: HomePaths,
  locks: LockSystem,
  files: NewAgentFiles,
): Promise<KernelLease> {
  const staging = paths.spawning(files.agentId)
  const agent = paths.agent(files.agentId)
  const marker = paths.marker(files.agentId)
  // A derived id: a dead attempt may have left its directory, and another import of the same bundle may be at work.
  if (statIfThere('spawn.stat', staging.root) !== undefined) sweepStagingOf(staging, locks)
  const lock = await lockStaging(staging, locks, files.agentId)
  let log: LockedLog = 'none'
  let isOurs = false
  try {
    // Only the process with the staging directory makes the agent, so this stays true until the rename.
    if (statIfThere('spawn.stat', agent.root) !== undefined) throw createdElsewhere(files.agentId)
    isOurs = true
    // After the staging directory and before the agent: a dead spawn left any marker that has neither.
    io.close(io.open('marker.create', marker, 'create'))
    const children = staging.childNames()
    for (const directory of [staging.inbox, staging.blobs, staging.requests, children.directory])
      io.mkdir('spawn.mkdir', directory)
    // The index of children is empty and complete. If a power cut takes this file, the index is rebuilt.
    io.close(io.open('spawn.children', children.complete, 'create'))
    for (const content of files.blobs) writeBlob(staging, content)
    writeNew('spawn.log', staging.log, files.log, { isSynced: true })
    // Lock the log before the rename: between the rename and the lease, only the fsync of the name may fail.
    log = tryLockLog(locks, staging.log)
    // A cache of the log, rebuilt if a power cut damages it.
    writeNew('spawn.snapshot', staging.snapshot, frame(files.snapshot), { isSynced: false })
    io.syncDirectory('spawn.sync_directory', staging.root)
    files.assertNameHeld?.()
    io.rename('spawn.rename', staging.root, agent.root)
  } catch (error) {
    attempt(() => io.removeTree('spawn.remove', staging.root))
    if (isOurs) attempt(() => io.unlink('marker.unlink', marker))
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
    `another machine locked agent ${files.agentId} as soon as it was created`,
    {
      hint: `check the agent: substrat show ${files.agentId}`,
      facts: { agent_id: files.agentId },
    },
  )
}

/** Longest wait for a sweep that took the staging directory before this process could lock it. */
const SWEEP_WAIT_MS = 10_000

/**
 * Makes and locks the staging directory. The lock file gets its final name only once locked. Before that a sweep may
 * take the directory, because it cannot see that this process lives; then the directory is made again.
 */
async function lockStaging(staging: AgentPaths, locks: LockSystem, agentId: string): Promise<io.OpenFile> {
  const start = clock.monotonic()
  for (;;) {
    let lock: io.OpenFile | undefined
    try {
      io.mkdir('spawn.mkdir', staging.root)
      lock = tryKernelLock(locks.kind, staging.unlocked, 'exclusive')
      if (lock !== undefined) {
        // Another process has its lock file there, under the final name. This one is a new file.
        if (statIfThere('spawn.stat', staging.lock) !== undefined) {
          io.unlink('spawn.unlock', staging.unlocked)
          throw createdElsewhere(agentId)
        }
        io.rename('spawn.lock', staging.unlocked, staging.lock)
      }
    } catch (error) {
      if (lock !== undefined) io.close(lock)
      lock = undefined
      if (!isGone(error)) {
        // Removes the directory only if it is not that of a living process.
        attempt(() => sweepStagingOf(staging, locks))
        throw error
      }
    }
    if (lock !== undefined) return lock
    assert(clock.monotonic() - start < SWEEP_WAIT_MS, 'a sweep holds a staging directory only briefly')
    await sleep(2)
  }
}

function isGone(error: unknown): boolean {
  return error instanceof SubstratError && error.facts.errno === 'ENOENT'
}

/**
 * Removes staging directories of dead spawns. The lock, under either of its names, shows a dead spawn; a clock cannot.
 */
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

/** Undefined if the spawn lives or has finished, or if another sweep holds the lock. */
function lockDeadStaging(staging: AgentPaths, locks: LockSystem): io.OpenFile | undefined {
  const named = io.openIfThere('sweep.open', staging.lock, 'write')
  if (named !== undefined) return lockOpenFile(locks.kind, named, 'exclusive')
  let lock: io.OpenFile | undefined
  try {
    // A spawn that is about to lock the directory finds it locked, or removed.
    lock = tryKernelLock(locks.kind, staging.unlocked, 'exclusive')
  } catch (error) {
    if (isGone(error)) return undefined
    throw error
  }
  if (lock === undefined || statIfThere('sweep.stat', staging.lock) === undefined) return lock
  // The spawn renamed its lock file after the open above, so the lock taken here is of a new file that this sweep
  // created.
  io.unlink('sweep.unlink', staging.unlocked)
  io.close(lock)
  return undefined
}

function closeAll(lock: io.OpenFile, log: LockedLog): void {
  if (typeof log !== 'string') io.close(log)
  io.close(lock)
}

/** Ignores a failed removal: recovery sweeps the rest, because the lock is free by then. */
function attempt(removal: () => void): void {
  try {
    removal()
  } catch {
    // The original error matters more.
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
