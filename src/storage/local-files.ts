/** The files of agents for this host only. A home in files has them in the directory of the agent. */
import type { Duplex } from 'node:stream'
import { ProgramFiles } from '../files/program-files.js'
import { serveSocket } from '../files/socket.js'
import { freeBytesIfKnown } from '../host/disk/facts.js'
import * as io from '../host/disk/io.js'
import { createWhole, replace } from '../host/disk/replace.js'
import { random } from '../start/random.js'
import { ServerFiles } from './kept-servers.js'
import type { LockSystem } from './locks/lease.js'
import type { LocalFiles } from './parts.js'
import type { HomePaths } from './paths.js'

const KEY_BYTES = 32

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

  actorKey(makes: boolean): Buffer | undefined {
    const path = this.paths.actorKey
    const known = io.readIfThere('actor_key.read', path)
    if (known?.length === KEY_BYTES || !makes) return known?.length === KEY_BYTES ? known : undefined
    // After a power cut the file may be there without its bytes.
    if (known !== undefined) replace('actor_key', path, random.bytes(KEY_BYTES), { durableName: false })
    // Another face may be faster: then its key counts.
    else createWhole('actor_key', path, random.bytes(KEY_BYTES))
    return io.readIfThere('actor_key.read', path)
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
