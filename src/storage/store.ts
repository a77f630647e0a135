/**
 * The file store: the only view of the disk for the layers above. Its interface has agents, logs, mail, markers and
 * leases but no files, so a second store could replace this one.
 *
 * The comment of each writing method states what is on disk on return. No method acknowledges anything.
 */
import type { Duplex } from 'node:stream'
import { ProgramFiles } from '../files/program-files.js'
import { serveSocket } from '../files/socket.js'
import { fileSystemType, statIfThere } from '../host/disk/facts.js'
import * as io from '../host/disk/io.js'
import { confine } from '../host/disk/operation.js'
import type { GoneHost, Holder, HomeFacts } from '../schema/files.js'
import { agentGone } from './agent-gone.js'
import { AgentLease } from './agent-lease.js'
import { Boots } from './boots.js'
import { createAgent, type NewAgentFiles } from './create-agent.js'
import { GoneHosts } from './gone-hosts.js'
import { HomeFormat, makeHome, readHome, refuseWithoutFacts } from './home.js'
import { KeptServerFiles } from './kept-servers.js'
import { KeyIndexes } from './keys.js'
import { chooseLockKind } from './locks/kernel-lock.js'
import { isHeld, isLocalType, type Lease, type LockSystem, readHolder, waitForLease } from './locks/lease.js'
import { type BlobReference, readBlob, writeBlob } from './log/blobs.js'
import { Logs } from './logs.js'
import { Mailboxes } from './mailboxes.js'
import { Markers } from './markers.js'
import { NameIndex } from './names.js'
import { HomePaths, parseAgentDirectory, type RequestVerb } from './paths.js'
import { Requests } from './requests.js'
import { Slots } from './slots.js'
import { Snapshots } from './snapshots.js'
import { type Entry, surveyHome, type Unseen } from './survey.js'
import { sweepAgent, sweepHome } from './sweep.js'
import { Upkeep } from './upkeep.js'
import { WaitEdges } from './wait-edges.js'

export { agentGone } from './agent-gone.js'
export type { ServerUse } from './kept-servers.js'
export { BatchLines } from './log/batch-lines.js'
export type { Unframed } from './log/frame.js'
export type { KeyPlace, KeyRetention } from './log/key-entries.js'
export type { KeyFile, SalvagedKeys } from './log/key-file.js'
export type { LogWriter, OpenedLog } from './log/log.js'
export type { LogReader } from './log/reader.js'
export type { LogDamage, LoggedRecord } from './log/scan.js'
export type { PeekedSnapshot } from './snapshots.js'
export type { AgentLease, BlobReference, Entry, GoneHost, Lease, NameIndex, RequestVerb, Unseen, Upkeep }

export interface TakeOptions {
  /** The command that the lock file names, for other users. */
  command: string
  /** How long to wait for a busy lock. At least 50 ms. */
  waitMs: number
  signal?: AbortSignal | undefined
}

export class FileStore {
  readonly logs: Logs
  readonly snapshots: Snapshots
  readonly keys: KeyIndexes
  readonly mail: Mailboxes
  /** Waits between agents. */
  readonly waits: WaitEdges
  readonly slots: Slots
  readonly requests: Requests
  readonly boots: Boots
  readonly goneHosts: GoneHosts
  readonly keptServers: KeptServerFiles
  readonly upkeep: Upkeep
  readonly format: HomeFormat
  readonly markers: Markers

  private constructor(
    readonly paths: HomePaths,
    readonly home: HomeFacts,
    private readonly locks: LockSystem,
  ) {
    this.logs = new Logs(paths)
    this.snapshots = new Snapshots(paths)
    this.keys = new KeyIndexes(paths)
    this.mail = new Mailboxes(paths)
    this.waits = new WaitEdges(paths, locks)
    this.slots = new Slots(paths, locks)
    this.requests = new Requests(paths)
    this.boots = new Boots(paths)
    this.goneHosts = new GoneHosts(paths)
    this.keptServers = new KeptServerFiles(paths, locks)
    this.upkeep = new Upkeep(paths, locks)
    this.format = new HomeFormat(paths, home)
    this.markers = new Markers(paths)
  }

  /** Undefined if there is no home. Writes nothing. */
  static openForRead(root: string): FileStore | undefined {
    const paths = confinedPaths(root)
    const facts = readHome(paths)
    if (facts === undefined) refuseWithoutFacts(paths)
    return facts === undefined ? undefined : FileStore.create(paths, facts)
  }

  /** Creates the home if it is missing. */
  static openForWrite(root: string): FileStore {
    const paths = confinedPaths(root)
    return FileStore.create(paths, makeHome(paths, chooseLockKind))
  }

  /** Every name in a home, also if its home.json is unreadable. */
  static survey(root: string): Generator<Entry | Unseen> {
    return surveyHome(root)
  }

  /** home.json. Without it, no other file of the home is read. */
  static factsPath(root: string): string {
    return new HomePaths(root).homeFile
  }

  private static create(paths: HomePaths, facts: HomeFacts): FileStore {
    const isLocal = isLocalType(fileSystemType(paths.root))
    return new FileStore(paths, facts, { kind: facts.lock, isLocal })
  }

  get root(): string {
    return this.paths.root
  }

  // Agents

  agentIds(): string[] {
    return io
      .listDirectories('agents.list', this.paths.agents)
      .map(parseAgentDirectory)
      .filter((id) => id !== undefined)
  }

  hasAgent(agentId: string): boolean {
    return statIfThere('agents.stat', this.paths.agent(agentId).root) !== undefined
  }

  /** Whether a spawn is creating the agent. Call before `hasAgent`, or an agent may be missed. */
  isSpawning(agentId: string): boolean {
    return statIfThere('agents.stat', this.paths.spawning(agentId).root) !== undefined
  }

  /** On return the agent is durable with its first batch, marked, and held by this process. */
  async create(files: NewAgentFiles): Promise<AgentLease> {
    // Before the agent exists: an earlier version must refuse the home as soon as one log has this format.
    this.format.assertRaised()
    return this.open(files.agentId, await createAgent(this.paths, this.locks, files))
  }

  /**
   * Takes the agent and marks it. Undefined if another process still holds it after `waitMs`. The lease releases the log and the
   * lock.
   */
  async take(agentId: string, { command, waitMs, signal }: TakeOptions): Promise<AgentLease | undefined> {
    const lock = await this.lockAgent(agentId, command, waitMs, signal)
    return lock === undefined
      ? undefined
      : this.open(agentId, lock, () => {
          this.syncNameOf(agentId)
          // Without the marker no work may start (durability rule 7).
          this.mark(agentId)
        })
  }

  private async open(agentId: string, lock: Lease, begin?: () => void): Promise<AgentLease> {
    try {
      begin?.()
      const log = this.logs.openForAppend(agentId, lock)
      return new AgentLease(agentId, this, lock, log, this.snapshots.read(agentId))
    } catch (error) {
      await lock.release()
      throw error
    }
  }

  /** Needs the agent's lock. One rename removes the agent whole. After a crash, a sweep deletes what was renamed. */
  removeAgent(agentId: string): void {
    const aside = this.paths.removedPath(agentId)
    io.rename('remove.aside', this.paths.agent(agentId).root, aside)
    io.syncDirectory('remove.sync_agents', this.paths.agents)
    io.removeTree('remove.tree', aside)
    io.unlink('marker.unlink', this.paths.marker(agentId))
    io.unlink('marker.unlink', this.paths.closingMarker(agentId))
    io.unlink('server.forget', this.paths.server(agentId))
  }

  /** The path of the log, for a person or a child process. */
  logPath(agentId: string): string {
    return this.paths.agent(agentId).log
  }

  /** The socket on which the holder serves substrat's tools to the program of a run. */
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

  /**
   * Call before acknowledging anything in an agent that another process created (durability rule 3). That process may
   * die between the rename and the fsync of the name, or may have died there. In that case the marker still exists.
   */
  syncNameOf(agentId: string): void {
    if (this.isMarked(agentId)) io.syncDirectory('agents.sync_directory', this.paths.agents)
  }

  // Blobs

  writeBlob(agentId: string, content: Buffer): BlobReference {
    return writeBlob(this.paths.agent(agentId), content)
  }

  readBlob(agentId: string, reference: BlobReference): Buffer {
    return readBlob(this.paths.agent(agentId), reference)
  }

  // Locks

  async lockAgent(
    agentId: string,
    command: string,
    waitMs: number,
    signal?: AbortSignal,
  ): Promise<Lease | undefined> {
    const { lock, log } = this.paths.agent(agentId)
    try {
      return await waitForLease(this.locks, lock, command, waitMs, { signal, log })
    } catch (error) {
      throw this.hasAgent(agentId) ? error : agentGone(agentId)
    }
  }

  isAgentHeld(agentId: string): boolean {
    return isHeld(this.locks, this.paths.agent(agentId).lock)
  }

  agentHolder(agentId: string): Holder | undefined {
    return readHolder(this.paths.agent(agentId).lock)
  }

  // Names

  rootNames(): NameIndex {
    return new NameIndex(this.paths.rootNames(), this.locks)
  }

  childNames(agentId: string): NameIndex {
    return new NameIndex(this.paths.agent(agentId).childNames(), this.locks)
  }

  // Markers
  mark(agentId: string): void {
    this.markers.mark(agentId)
  }

  unmark(agentId: string, needsVisit: () => boolean): void {
    this.markers.unmark(agentId, needsVisit)
  }

  isMarked(agentId: string): boolean {
    return this.markers.isMarked(agentId)
  }

  markedIds(): string[] {
    return this.markers.markedIds()
  }

  // Leftovers of dead writers
  /** Removes temporary files of the home, staging directories and remains of removed agents. Returns their number. */
  sweepHome(): number {
    return sweepHome(this.paths, this.locks)
  }

  /** Files for the programs of one turn. Needs the agent's lock. */
  programFiles(agentId: string): ProgramFiles {
    return new ProgramFiles(this.paths.agent(agentId).root)
  }

  /** Needs the agent's lock. Returns the number of files removed. */
  sweepAgent(agentId: string): number {
    this.waits.sweep(agentId)
    return sweepAgent(this.paths.agent(agentId))
  }

  // Settings
  readConfig(): Buffer | undefined {
    return io.readIfThere('config.read', this.paths.configFile)
  }

  get configPath(): string {
    return this.paths.configFile
  }

  agentPath(agentId: string): string {
    return this.paths.agent(agentId).root
  }
}

/** Symlinks are refused in the directories of the format only: the owner's own files, such as skills, may be links. */
function confinedPaths(root: string): HomePaths {
  const paths = new HomePaths(root)
  confine(paths.directories)
  return paths
}
