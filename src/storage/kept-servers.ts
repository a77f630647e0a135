/**
 * The files of kept servers: which agents have one, when a turn last used it, how to reach it, and what it prints. The log
 * of each agent is the truth.
 *
 * Invariants: an agent whose log has a server has its file in `servers/`, made first and removed last. Everything here but
 * that directory and its lock is touched only with the agent's lock held.
 */

import { statIfThere } from '../host/disk/facts.js'
import * as io from '../host/disk/io.js'
import { replace } from '../host/disk/replace.js'
import { lockOpenFile } from './locks/kernel-lock.js'
import { type Lease, type LockSystem, waitForLease } from './locks/lease.js'
import { frame, unframeFile } from './log/frame.js'
import { type HomePaths, parseAgentDirectory } from './paths.js'

const OUTPUT_BYTES_READ = 64 * 1024
/** What a server has printed is thrown away when it is more than this at the beginning of a turn. */
const OUTPUT_BYTES_KEPT = 1024 * 1024

export interface ServerUse {
  agentId: string
  usedMs: number
}

export class KeptServerFiles {
  constructor(
    private readonly paths: HomePaths,
    private readonly locks: LockSystem,
  ) {}

  /** Records that a turn uses the server now. */
  touch(agentId: string): void {
    io.mkdir('server.mkdir', this.paths.servers)
    io.touch('server.mark', this.paths.server(agentId))
  }

  /** One entry per agent with a server, the least recently used first. */
  uses(): ServerUse[] {
    const ids = io.listDirectory('server.list', this.paths.servers).map(parseAgentDirectory)
    return ids
      .flatMap((agentId) => {
        const facts = agentId && statIfThere('server.stat', this.paths.server(agentId))
        return agentId && facts ? [{ agentId, usedMs: facts.modifiedMs }] : []
      })
      .sort((a, b) => a.usedMs - b.usedMs)
  }

  /** For who counts them and stops some. Undefined where somebody else does for longer than `waitMs`. */
  lock(command: string, waitMs: number): Promise<Lease | undefined> {
    io.mkdir('server.mkdir', this.paths.servers)
    return waitForLease(this.locks, this.paths.serversLock, command, waitMs)
  }

  /** Of a server that is gone. */
  forget(agentId: string): void {
    const agent = this.paths.agent(agentId)
    io.unlink('server.forget', agent.serverHandle)
    io.unlink('server.forget', agent.serverOutput)
    io.unlink('server.forget', this.paths.server(agentId))
  }

  /** May be lost in a power cut, as its server is. */
  writeHandle(agentId: string, serverId: string, handle: Uint8Array): void {
    const line = frame({ server_id: serverId, handle: Buffer.from(handle).toString('base64') })
    replace('server.handle', this.paths.agent(agentId).serverHandle, line, { durableName: false })
  }

  /** Undefined where there is none of that very server. */
  readHandle(agentId: string, serverId: string): Buffer | undefined {
    const bytes = io.readIfThere('server.handle', this.paths.agent(agentId).serverHandle)
    const line = bytes === undefined ? { damage: 'it is missing' } : unframeFile(bytes)
    if ('damage' in line || line.object.server_id !== serverId) return undefined
    return typeof line.object.handle === 'string' ? Buffer.from(line.object.handle, 'base64') : undefined
  }

  /** An empty file to print to, locked for as long as anybody has it open to print; the caller closes it. */
  openOutput(agentId: string): io.OpenFile {
    const path = this.paths.agent(agentId).serverOutput
    for (;;) {
      // Another file than that of the one before, which may have left something that prints.
      io.unlink('server.output', path)
      const file = lockOpenFile(this.locks.kind, io.open('server.output', path, 'append'), 'exclusive')
      // Else who looks whether it prints has it for a moment, without the agent's lock.
      if (file !== undefined) return file
    }
  }

  /** Whether the server, or what it has started, still has its output open: seen from any container of this kernel. */
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

  /** The end of it. */
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

  /** A server that runs for days fills no disk: it appends, so it goes on at the beginning. */
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
