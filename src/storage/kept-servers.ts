/**
 * The files of kept servers: which agents have one, the time of its last use, its address and its output. The agent's
 * log is the truth.
 *
 * Invariants: each agent whose log has a server has a file in `servers/`, created first and removed last. All other
 * files here need the agent's lock; `servers/` and its own lock do not.
 */

import { statIfThere } from '../host/disk/facts.js'
import * as io from '../host/disk/io.js'
import { replace } from '../host/disk/replace.js'
import { FILE_PREDICATES } from '../schema/generated/file-predicates.js'
import { lockOpenFile } from './locks/kernel-lock.js'
import { type KernelLease, type LockSystem, waitForLease } from './locks/lease.js'
import { frame, unframeFile } from './log/frame.js'
import type { KeptServerFiles } from './parts.js'
import { type HomePaths, parseAgentDirectory } from './paths.js'

const OUTPUT_BYTES_READ = 64 * 1024
/** A turn that finds more output than this discards it when it begins. */
const OUTPUT_BYTES_KEPT = 1024 * 1024

export interface ServerUse {
  agentId: string
  usedMs: number
}

export class ServerFiles implements KeptServerFiles {
  constructor(
    private readonly paths: HomePaths,
    private readonly locks: LockSystem,
  ) {}

  /** Records the current use of the server by a turn. */
  touch(agentId: string): void {
    io.mkdir('server.mkdir', this.paths.servers)
    io.touch('server.mark', this.paths.server(agentId))
  }

  /** One entry per agent with a server, least recently used first. */
  uses(): ServerUse[] {
    const ids = io.listDirectory('server.list', this.paths.servers).map(parseAgentDirectory)
    return ids
      .flatMap((agentId) => {
        const facts = agentId && statIfThere('server.stat', this.paths.server(agentId))
        return agentId && facts ? [{ agentId, usedMs: facts.modifiedMs }] : []
      })
      .sort((a, b) => a.usedMs - b.usedMs)
  }

  /**
   * Held while a command counts the servers and stops some. Undefined if another process holds it longer than `waitMs`.
   */
  lock(command: string, waitMs: number): Promise<KernelLease | undefined> {
    io.mkdir('server.mkdir', this.paths.servers)
    return waitForLease(this.locks, this.paths.serversLock, command, waitMs)
  }

  /** Removes the files of a server that has exited. */
  forget(agentId: string): void {
    const agent = this.paths.agent(agentId)
    io.unlink('server.forget', agent.serverHandle)
    io.unlink('server.forget', agent.serverOutput)
    io.unlink('server.forget', this.paths.server(agentId))
  }

  /** Not durable: a power cut ends the server too. */
  writeHandle(agentId: string, serverId: string, handle: Uint8Array): void {
    const line = frame({ server_id: serverId, handle: Buffer.from(handle).toString('base64') })
    replace('server.handle', this.paths.agent(agentId).serverHandle, line, { durableName: false })
  }

  /** Undefined if there is no handle, or it belongs to another server. */
  readHandle(agentId: string, serverId: string): Buffer | undefined {
    const bytes = io.readIfThere('server.handle', this.paths.agent(agentId).serverHandle)
    const line = bytes === undefined ? { damage: 'it is missing' } : unframeFile(bytes)
    if ('damage' in line || line.object.server_id !== serverId) return undefined
    const { handle } = line.object
    return FILE_PREDICATES.serverFile.handle?.(handle) ? Buffer.from(handle as string, 'base64') : undefined
  }

  /** An empty output file, locked until every process that prints to it has closed it. The caller closes its copy. */
  openOutput(agentId: string): io.OpenFile {
    const path = this.paths.agent(agentId).serverOutput
    for (;;) {
      // A new file: processes of the previous server may still print to the old one.
      io.unlink('server.output', path)
      const file = lockOpenFile(this.locks.kind, io.open('server.output', path, 'append'), 'exclusive')
      // Otherwise `isPrinting` of another process, which needs no agent lock, briefly holds it. Try again.
      if (file !== undefined) return file
    }
  }

  /** Whether the server or its children still have the output open. Works across containers of one kernel. */
  isPrinting(agentId: string): boolean {
    const file = io.openIfThere('server.output', this.paths.agent(agentId).serverOutput, 'read')
    if (file === undefined) return false
    const free = lockOpenFile(this.locks.kind, file, 'shared')
    if (free !== undefined) io.close(free)
    return free === undefined
  }

  closeOutput(file: io.OpenFile): void {
    io.close(file)
  }

  /** Returns the end of the output. */
  readOutput(agentId: string): string {
    const file = io.openIfThere('server.output', this.paths.agent(agentId).serverOutput, 'read')
    if (file === undefined) return ''
    try {
      const size = io.sizeOf(file)
      return io.readRange('server.output', file, Math.max(0, size - OUTPUT_BYTES_READ), size).toString('utf8')
    } finally {
      io.close(file)
    }
  }

  /**
   * Keeps a long-running server from filling the disk. The server appends, so after the truncation it writes at byte 0.
   */
  boundOutput(agentId: string): void {
    const file = io.openIfThere('server.output', this.paths.agent(agentId).serverOutput, 'write')
    if (file === undefined) return
    try {
      if (io.sizeOf(file) > OUTPUT_BYTES_KEPT) io.truncate('server.output', file, 0)
    } finally {
      io.close(file)
    }
  }
}
