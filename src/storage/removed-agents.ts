/**
 * The usage of agents that were removed, so that `usage` still counts them.
 *
 * Invariants: the file is durable before the agent is removed. It counts only while no agent has its id, so a crash between the two
 * counts nothing twice: the agent is whole, and the next `remove` replaces the file.
 */

import type { RemovedAgent } from '../format.js'
import * as io from '../host/disk/io.js'
import { replace } from '../host/disk/replace.js'
import { isTemporaryName } from '../host/disk/temporary.js'
import { frame, unframeFile } from './log/frame.js'
import type { RemovedAgents } from './parts.js'
import type { HomePaths } from './paths.js'

export class RemovedAgentFiles implements RemovedAgents {
  constructor(private readonly paths: HomePaths) {}

  put(removed: RemovedAgent): void {
    io.mkdir('removed.mkdir', this.paths.removed)
    io.syncDirectory('removed.sync_home', this.paths.root)
    replace('removed.write', this.paths.removedAgent(removed.agent_id), frame(removed), { durableName: true })
  }

  all(): { agentId: string; removed?: RemovedAgent }[] {
    const names = io.listDirectory('removed.list', this.paths.removed)
    return names
      .filter((name) => !isTemporaryName(name))
      .sort()
      .map((agentId) => {
        const line = unframeFile(
          io.readIfThere('removed.read', this.paths.removedAgent(agentId)) ?? Buffer.alloc(0),
        )
        return 'damage' in line ? { agentId } : { agentId, removed: line.object as unknown as RemovedAgent }
      })
  }
}
