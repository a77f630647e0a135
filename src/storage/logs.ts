/** The logs of agents. */

import * as io from '../host/disk/io.js'
import { createWhole } from '../host/disk/replace.js'
import { sha256Hex } from '../start/hash.js'
import type { KernelLease } from './locks/lease.js'
import { type FileLog, LogWriter, openLogForRead } from './log/log.js'
import { checkOwner, ownLog } from './log/log-owner.js'
import type { HomePaths } from './paths.js'

export class Logs {
  constructor(private readonly paths: HomePaths) {}

  /** Undefined if there is no log. Throws CORRUPT if the log belongs to another agent. */
  openForRead(agentId: string): FileLog | undefined {
    const log = openLogForRead(this.pathOf(agentId))
    return log === undefined ? undefined : ownLog(log, agentId)
  }

  /**
   * Needs the agent's lease, which also locks the log and closes it. Throws CORRUPT if the log is missing or belongs to
   * another agent.
   */
  openForAppend(agentId: string, { log }: KernelLease): LogWriter {
    const writer = LogWriter.open(this.pathOf(agentId), log)
    checkOwner(writer, agentId)
    return writer
  }

  /** Saves the bytes of a truncated tail in `cut/` for inspection, if the disk permits. */
  keepCutBytes(agentId: string, offset: number, bytes: Buffer): void {
    const agent = this.paths.agent(agentId)
    try {
      io.mkdir('cut.mkdir', agent.cut)
      const hash = sha256Hex(bytes)
      createWhole('cut', agent.cutBytes(offset, hash), bytes)
    } catch {
      // The bytes were never acknowledged. A full disk must not prevent the repair of the log.
    }
  }

  private pathOf(agentId: string): string {
    return this.paths.agent(agentId).log
  }
}
