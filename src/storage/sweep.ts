/** Removes what dead writers left: temporary files, staging directories, sockets, directories of removed agents. */
import { clock } from '../clock.js'
import * as io from '../host/disk/io.js'
import { sweepStaging } from './create-agent.js'
import type { LockSystem } from './locks/lease.js'
import { sweepAbandoned, sweepLeftovers } from './maildir.js'
import { type AgentPaths, type HomePaths, isRemovedLeftover, isSocket } from './paths.js'

/** A temporary file with an unknown writer counts as abandoned from this age. A living writer's file is younger. */
const LEFTOVER_AGE_MS = 10 * 60_000

export function sweepHome(paths: HomePaths, locks: LockSystem): number {
  const now = clock.now()
  const directories = [paths.root, paths.roots, paths.boots, paths.gone, paths.removed, paths.operatorInbox]
  const temps = directories.map((directory) => sweepAbandoned(directory, now - LEFTOVER_AGE_MS))
  const removed = io.listDirectory('sweep.list', paths.agents).filter(isRemovedLeftover)
  for (const name of removed) io.removeTree('remove.tree', `${paths.agents}/${name}`)
  return temps.reduce((sum, count) => sum + count, sweepStaging(paths, locks) + removed.length)
}

/** Needs the agent's lock. The inbox and the index of children may have other writers, which do not take that lock. */
export function sweepAgent(agent: AgentPaths): number {
  const oldMs = clock.now() - LEFTOVER_AGE_MS
  for (const name of io.listDirectory('sweep.list', agent.root).filter(isSocket))
    io.unlink('sweep.unlink', `${agent.root}/${name}`)
  return (
    sweepLeftovers(agent.root) +
    sweepLeftovers(agent.blobs) +
    sweepLeftovers(agent.cut) +
    sweepAbandoned(agent.inbox, oldMs) +
    sweepAbandoned(agent.childNames().directory, oldMs)
  )
}
