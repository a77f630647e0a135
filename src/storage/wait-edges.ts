/**
 * Who waits for whom, across processes: a file below the waiting agent, locked for as long as the process that waits
 * lives. So an edge cannot outlive its wait, whatever kills it.
 *
 * Invariant: an edge is there before its process looks for a cycle, so of two that would close one at least one sees it.
 */
import { SubstratError } from '../errors.js'
import * as io from '../host/disk/io.js'
import { randomUuid } from '../start/random.js'
import { isHeld, type Lease, type LockSystem, waitForLease } from './locks/lease.js'
import { type HomePaths, parseWaitEdge } from './paths.js'

/** Whoever looks at an edge holds its lock for a moment. */
const LOCK_WAIT_MS = 2000

export class WaitEdges {
  constructor(
    private readonly paths: HomePaths,
    private readonly locks: LockSystem,
  ) {}

  /** The edge stands until it is released. */
  async add(waiterId: string, recipientId: string, command: string): Promise<Pick<Lease, 'release'>> {
    const agent = this.paths.agent(waiterId)
    const path = agent.waitEdge(recipientId, randomUuid())
    io.mkdir('edge.mkdir', agent.waits)
    const lease = await waitForLease(this.locks, path, command, LOCK_WAIT_MS)
    if (lease === undefined) throw new SubstratError('LOCKED', `${path} is busy`)
    return {
      release: async () => {
        io.unlink('edge.unlink', path)
        await lease.release()
      },
    }
  }

  /** Whom living processes of the agent wait for. */
  edgesOf(agentId: string): string[] {
    return [...new Set(this.edges(agentId).flatMap(({ path, to }) => (isHeld(this.locks, path) ? [to] : [])))]
  }

  /** Removes what dead processes left. */
  sweep(agentId: string): void {
    for (const path of this.leftBy(agentId)) io.unlink('edge.unlink', path)
  }

  /** Edges whose process is gone. */
  leftBy(agentId: string): string[] {
    return this.edges(agentId).flatMap(({ path }) => (isHeld(this.locks, path) ? [] : [path]))
  }

  private edges(agentId: string): { path: string; to: string }[] {
    const { waits } = this.paths.agent(agentId)
    return io.listDirectory('edge.list', waits).flatMap((name) => {
      const to = parseWaitEdge(name)
      return to === undefined ? [] : [{ path: `${waits}/${name}`, to }]
    })
  }
}
