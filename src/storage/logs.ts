/** The logs of agents. */

import * as io from '../host/disk/io.js'
import { createWhole } from '../host/disk/replace.js'
import { sha256Hex } from '../start/hash.js'
import type { Lease } from './locks/lease.js'
import { LogWriter, type OpenedLog, openLogForRead } from './log/log.js'
import { checkOwner, ownLog } from './log/log-owner.js'
import type { HomePaths } from './paths.js'

export class Logs {
  constructor(private readonly paths: HomePaths) {}

  /** Undefined where there is none. Throws CORRUPT where it is the log of another agent. */
  openForRead(agentId: string): OpenedLog | undefined {
    const log = openLogForRead(this.pathOf(agentId))
    return log === undefined ? undefined : ownLog(log, agentId)
  }

  /**
   * Under the agent's lock, which is the log's too; it is closed by the lease. Throws CORRUPT where there is none, or it is
   * the log of another agent.
   */
  openForAppend(agentId: string, { log }: Lease): LogWriter {
    const writer = LogWriter.open(this.pathOf(agentId), log)
    checkOwner(writer, agentId)
    return writer
  }

  /** For who acknowledges what it has read without the lock: the writer may not have synced it yet. */
  sync(agentId: string): void {
    const file = io.open('log.open', this.pathOf(agentId), 'read')
    try {
      io.fdatasync('log.sync_read', file)
    } finally {
      io.close(file)
    }
  }

  /** Keeps the bytes of a torn tail for a person to look at, as well as the disk permits. */
  keepCutBytes(agentId: string, offset: number, bytes: Buffer): void {
    const agent = this.paths.agent(agentId)
    try {
      io.mkdir('cut.mkdir', agent.cut)
      const hash = sha256Hex(bytes)
      createWhole('cut', agent.cutBytes(offset, hash), bytes)
    } catch {
      // They were never acknowledged; a full disk must not keep the log from being repaired.
    }
  }

  private pathOf(agentId: string): string {
    return this.paths.agent(agentId).log
  }
}
