/**
 * Waits between agents, and of commands for an agent, across processes. Each edge is a file in the waiting agent's directory, locked while the
 * waiting process lives. So a dead process leaves no live edge.
 *
 * Invariant: a process adds its edge before it searches for a cycle. If two edges together close a cycle, at least one
 * of the two processes sees it.
 */
import { RUN_AGAIN, SubstratError } from '../errors.js'
import * as io from '../host/disk/io.js'
import { randomUuid } from '../start/random.js'
import { isHeld, type KernelLease, type LockSystem, readHolder, waitForLease } from './locks/lease.js'
import type { Waits } from './parts.js'
import { type HomePaths, parseWaitEdge } from './paths.js'

/** A process that probes an edge holds the edge's lock for a moment. */
const LOCK_WAIT_MS = 2000

interface Edge {
  path: string
  to: string
}

export class WaitEdges implements Waits {
  constructor(
    private readonly paths: HomePaths,
    private readonly locks: LockSystem,
  ) {}

  /** The edge exists until it is released. */
  async add(waiterId: string, recipientId: string, command: string): Promise<Pick<KernelLease, 'release'>> {
    const agent = this.paths.agent(waiterId)
    const path = agent.waitEdge(recipientId, randomUuid())
    io.mkdir('edge.mkdir', agent.waits)
    const lease = await waitForLease(this.locksOf(waiterId, recipientId), path, command, LOCK_WAIT_MS)
    if (lease === undefined)
      throw new SubstratError('LOCKED', `another process holds ${path}`, { hint: RUN_AGAIN })
    return {
      release: async () => {
        io.unlink('edge.unlink', path)
        await lease.release()
      },
    }
  }

  /** Recipients for which living processes of the agent wait. */
  edgesOf(agentId: string): string[] {
    const others = this.edges(agentId).filter(({ to }) => to !== agentId)
    return [...new Set(others.flatMap((edge) => (this.isLive(agentId, edge) ? [edge.to] : [])))]
  }

  /** An edge from the agent to itself. */
  arrive(agentId: string, command: string): Promise<Pick<KernelLease, 'release'>> {
    return this.add(agentId, agentId, command)
  }

  arrivals(agentId: string): string[] {
    return this.edges(agentId).flatMap((edge) =>
      // Before its holder has written the time, the wait has begun just now.
      edge.to === agentId && this.isLive(agentId, edge)
        ? [readHolder(edge.path)?.since ?? new Date().toISOString()]
        : [],
    )
  }

  /** Removes the edges of dead processes. */
  sweep(agentId: string): void {
    for (const path of this.leftBy(agentId)) io.unlink('edge.unlink', path)
  }

  /** Paths of the edges of dead processes. */
  leftBy(agentId: string): string[] {
    return this.edges(agentId).flatMap((edge) => (this.isLive(agentId, edge) ? [] : [edge.path]))
  }

  private isLive(agentId: string, { path, to }: Edge): boolean {
    return isHeld(this.locksOf(agentId, to), path)
  }

  /** A command's wait for its agent only orders messages. It has no lock directory, which would outlive a killed command. */
  private locksOf(waiterId: string, recipientId: string): LockSystem {
    return waiterId === recipientId ? { ...this.locks, isLocal: true } : this.locks
  }

  private edges(agentId: string): Edge[] {
    const { waits } = this.paths.agent(agentId)
    return io.listDirectory('edge.list', waits).flatMap((name) => {
      const to = parseWaitEdge(name)
      return to === undefined ? [] : [{ path: `${waits}/${name}`, to }]
    })
  }
}
