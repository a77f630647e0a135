/** The files of agents for this host only. A home in files has them in the directory of the agent. */
import type { Duplex } from 'node:stream'
import { ProgramFiles } from '../files/program-files.js'
import { serveSocket } from '../files/socket.js'
import { freeBytesIfKnown } from '../host/disk/facts.js'
import { ServerFiles } from './kept-servers.js'
import type { LockSystem } from './locks/lease.js'
import type { LocalFiles } from './parts.js'
import type { HomePaths } from './paths.js'

export class AgentFiles implements LocalFiles {
  readonly keptServers: ServerFiles

  constructor(
    private readonly paths: HomePaths,
    locks: LockSystem,
  ) {
    this.keptServers = new ServerFiles(paths, locks)
  }

  programFiles(agentId: string): ProgramFiles {
    return new ProgramFiles(this.paths.agent(agentId).root)
  }

  logPath(agentId: string): string {
    return this.paths.agent(agentId).log
  }

  freeBytes(agentId: string): number | undefined {
    return freeBytesIfKnown(this.paths.agent(agentId).root)
  }

  socketPath(agentId: string, runId: string): string {
    return this.paths.agent(agentId).socket(runId)
  }

  serveSocket(
    agentId: string,
    runId: string,
    onConnection: (connection: Duplex) => Promise<void>,
  ): Promise<{ close(): void }> {
    return serveSocket(this.socketPath(agentId, runId), onConnection)
  }
}
