/** What writers that died have left: temps, cradles, sockets, agents that were being taken apart. None of it is anybody's. */
import { clock } from '../clock.js'
import { sweepCradles } from './birth.js'
import * as io from './io.js'
import type { LockSystem } from './lease.js'
import { sweepLeftovers } from './maildir.js'
import { type AgentPaths, type HomePaths, isRemovedLeftover, isSocket } from './paths.js'

/** A living writer's temp is younger. */
const LEFTOVER_AGE_MS = 10 * 60_000

export function sweepHome(paths: HomePaths, locks: LockSystem): number {
  const now = clock.now()
  const directories = [paths.root, paths.roots, paths.boots, paths.operatorInbox]
  const temps = directories.map((directory) => sweepLeftovers(directory, now - LEFTOVER_AGE_MS))
  const removed = io.listDirectory('sweep.list', paths.agents).filter(isRemovedLeftover)
  for (const name of removed) io.removeTree('remove.tree', `${paths.agents}/${name}`)
  return temps.reduce((sum, count) => sum + count, sweepCradles(paths, locks, now) + removed.length)
}

/** Under the agent's lock. Its inbox and the index of its children are written without that lock: there a temp must be old. */
export function sweepAgent(agent: AgentPaths): number {
  const now = clock.now()
  for (const name of io.listDirectory('sweep.list', agent.root).filter(isSocket))
    io.unlink('sweep.unlink', `${agent.root}/${name}`)
  return (
    sweepLeftovers(agent.root, now) +
    sweepLeftovers(agent.blobs, now) +
    sweepLeftovers(agent.cut, now) +
    sweepLeftovers(agent.inbox, now - LEFTOVER_AGE_MS) +
    sweepLeftovers(agent.childNames().directory, now - LEFTOVER_AGE_MS)
  )
}
