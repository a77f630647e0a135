/**
 * The file store: all that the layers above know of the disk. They speak of agents, logs, mail, marks and leases, never
 * of files, so that a second store can stand beside this one.
 *
 * Methods that write say what is on disk when they return; none of them is acknowledged by itself.
 */
import type { Duplex } from 'node:stream'
import { SubstratError } from '../errors.js'
import { ProgramFiles } from '../files/program-files.js'
import { serveSocket } from '../files/socket.js'
import { fileSystemType, statIfThere } from '../host/disk/facts.js'
import * as io from '../host/disk/io.js'
import { confine } from '../host/disk/operation.js'
import { Boots } from './boots.js'
import { createAgent, type NewAgentFiles } from './create-agent.js'
import { type HomeFacts, makeHome, readHome, refuseWithoutFacts } from './home.js'
import { KeptServerFiles } from './kept-servers.js'
import { KeyIndexes } from './keys.js'
import { chooseLockKind } from './locks/kernel-lock.js'
import {
  type Holder,
  isHeld,
  isLocalType,
  type Lease,
  type LockSystem,
  readHolder,
  waitForLease,
} from './locks/lease.js'
import { type BlobReference, readBlob, writeBlob } from './log/blobs.js'
import { Logs } from './logs.js'
import { Mailboxes } from './mailboxes.js'
import { NameIndex } from './names.js'
import { HomePaths, parseAgentDirectory, parseMarker, type RequestVerb } from './paths.js'
import { Requests } from './requests.js'
import { Slots } from './slots.js'
import { Snapshots } from './snapshots.js'
import { type Entry, surveyHome, type Unseen } from './survey.js'
import { sweepAgent, sweepHome } from './sweep.js'
import { Upkeep } from './upkeep.js'
import { WaitEdges } from './wait-edges.js'

export type { ServerUse } from './kept-servers.js'
export { BatchLines } from './log/batch-lines.js'
export type { Unframed } from './log/frame.js'
export type { KeyPlace, KeyRetention } from './log/key-entries.js'
export type { KeyFile, SalvagedKeys } from './log/key-file.js'
export type { LogWriter, OpenedLog } from './log/log.js'
export type { LogReader } from './log/reader.js'
export type { LogDamage, LoggedRecord } from './log/scan.js'
export type { BlobReference, Entry, Holder, Lease, NameIndex, RequestVerb, Unseen, Upkeep }

export class FileStore {
  readonly logs: Logs
  readonly snapshots: Snapshots
  readonly keys: KeyIndexes
  readonly mail: Mailboxes
  /** Who waits for whom. */
  readonly waits: WaitEdges
  readonly slots: Slots
  readonly requests: Requests
  readonly boots: Boots
  /** Servers that are kept between turns. */
  readonly keptServers: KeptServerFiles
  readonly upkeep: Upkeep

  private constructor(
    private readonly paths: HomePaths,
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
    this.keptServers = new KeptServerFiles(paths, locks)
    this.upkeep = new Upkeep(paths, locks)
  }

  /** Undefined where there is no home. Makes nothing. */
  static openForRead(root: string): FileStore | undefined {
    const paths = confinedPaths(root)
    const facts = readHome(paths)
    if (facts === undefined) refuseWithoutFacts(paths)
    return facts === undefined ? undefined : FileStore.create(paths, facts)
  }

  /** Makes the home where it is missing. */
  static openForWrite(root: string): FileStore {
    const paths = confinedPaths(root)
    return FileStore.create(paths, makeHome(paths, chooseLockKind))
  }

  /** Every name in a home, also where its home.json cannot be read. */
  static survey(root: string): Generator<Entry | Unseen> {
    return surveyHome(root)
  }

  /** Without it nothing else of a home is read. */
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

  /** Whether a spawn is making it. Asked before `hasAgent`, it cannot miss one that is just created. */
  isSpawning(agentId: string): boolean {
    return statIfThere('agents.stat', this.paths.spawning(agentId).root) !== undefined
  }

  /** On disk with its first batch, marked, and locked by us, when it returns. */
  createAgent(files: NewAgentFiles): Promise<Lease> {
    return createAgent(this.paths, this.locks, files)
  }

  /** Gone when it returns, or, where we die, aside until the next sweep: never there by half. Under its lock. */
  removeAgent(agentId: string): void {
    const aside = this.paths.removedPath(agentId)
    io.rename('remove.aside', this.paths.agent(agentId).root, aside)
    io.syncDirectory('remove.sync_agents', this.paths.agents)
    io.removeTree('remove.tree', aside)
    io.unlink('marker.unlink', this.paths.marker(agentId))
    io.unlink('marker.unlink', this.paths.closingMarker(agentId))
    io.unlink('server.forget', this.paths.server(agentId))
  }

  /** Where the log is, for a person or a child process to read. */
  logPath(agentId: string): string {
    return this.paths.agent(agentId).log
  }

  /** Where the holder serves its tools to the program of a run. */
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
   * Before anything is acknowledged in an agent that another process made: that one may have died, or be about to,
   * between the rename and the sync of its name (durability rule 3). Then its marker is still there.
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

  // Markers: something may be owed here. Not synced: a new kernel boot scans every agent.

  mark(agentId: string): void {
    const file = io.open('marker.create', this.paths.marker(agentId), 'create')
    io.close(file)
  }

  /**
   * Takes the marker away where nothing is owed. It is moved aside before the last look, and counts as there until then:
   * a sender makes a temp in the inbox, marks, gives it its name, and marks again. That look sees the temp or the mail, or
   * comes before both: then the mark does, too, and stays.
   */
  unmark(agentId: string, needsVisit: () => boolean): void {
    const marker = this.paths.marker(agentId)
    const aside = this.paths.closingMarker(agentId)
    if (needsVisit()) return
    // It may be aside already: whoever moved it there died, or is doing the same for an agent that never came to be.
    io.renameIfThere('marker.aside', marker, aside)
    if (needsVisit()) io.renameIfThere('marker.restore', aside, marker)
    else io.unlink('marker.unlink', aside)
  }

  isMarked(agentId: string): boolean {
    const markers = [this.paths.marker(agentId), this.paths.closingMarker(agentId)]
    return markers.some((path) => statIfThere('marker.stat', path) !== undefined)
  }

  markedIds(): string[] {
    const ids = io.listDirectory('marker.list', this.paths.unclean).map(parseMarker)
    return [...new Set(ids.filter((id) => id !== undefined))]
  }

  // Leftovers of writers that died

  /** Temporary files in the home itself, staging directories of spawns, what is left of removed agents. Says how many it removed. */
  sweepHome(): number {
    return sweepHome(this.paths, this.locks)
  }

  /** For the programs of a turn of the agent, under its lock. */
  programFiles(agentId: string): ProgramFiles {
    return new ProgramFiles(this.paths.agent(agentId).root)
  }

  /** Under the agent's lock. Says how many it removed. */
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

/** What a home's owner keeps in it besides may be links: instructions, skills. What is ours may not. */
function confinedPaths(root: string): HomePaths {
  const paths = new HomePaths(root)
  confine(paths.directories)
  return paths
}

/** Another process took it away after its name was looked up. */
export function agentGone(agentId: string): SubstratError {
  return new SubstratError('AGENT_NOT_FOUND', `agent ${agentId} was taken away meanwhile`, {
    hint: 'see which there are: substrat list --all',
    facts: { agent_id: agentId },
  })
}
