/**
 * A home in files. Only this class and the parts that it consists of know a path.
 *
 * The comment of each writing method states what is on disk on return. No method acknowledges anything.
 */
import { writeUserFile } from '../files/user-files.js'
import { statIfThere } from '../host/disk/facts.js'
import * as io from '../host/disk/io.js'
import { fileSystemKind } from '../host/file-system.js'
import type { HomeFacts } from '../schema/files.js'
import { AccountFiles } from './accounts.js'
import { agentGone } from './agent-gone.js'
import { AgentLease } from './agent-lease.js'
import { ContentFiles } from './contents.js'
import { createAgent } from './create-agent.js'
import { GoneHostFiles } from './gone-hosts.js'
import { confinedPaths, HomeFormat, makeHome, readHome, refuseWithoutFacts } from './home.js'
import { refuseExposedAgent, refuseExposedConfig } from './home-trust.js'
import { KeyIndexFiles } from './keys.js'
import { AgentFiles } from './local-files.js'
import { chooseLockKind } from './locks/kernel-lock.js'
import {
  isHeld,
  type KernelLease,
  type LockSystem,
  readHolder,
  tryLease,
  waitForLease,
} from './locks/lease.js'
import { readBlob } from './log/blobs.js'
import type { FileLog } from './log/log.js'
import { Logs } from './logs.js'
import { Mailboxes } from './mailboxes.js'
import { Markers } from './markers.js'
import { MoveFiles } from './moves.js'
import { NameIndex } from './names.js'
import { OpenedFiles } from './opened-files.js'
import { type HomePaths, parseAgentDirectory } from './paths.js'
import { RemovedAgentFiles } from './removed-agents.js'
import { RequestFiles } from './requests.js'
import { Slots } from './slots.js'
import { Snapshots } from './snapshots.js'
import type {
  Birth,
  BlobReference,
  Holder,
  KnownEnd,
  Lease,
  OpenedAgent,
  PeekedSnapshot,
  Right,
  Store,
  TakeOptions,
  Thing,
} from './store.js'
import { FileUpkeep } from './upkeep.js'
import { WaitEdges } from './wait-edges.js'

export class FileStore implements Store {
  readonly isShared = false
  readonly logs: Logs
  readonly snapshots: Snapshots
  readonly keys: KeyIndexFiles
  readonly mail: Mailboxes
  readonly waits: WaitEdges
  readonly slots: Slots
  readonly requests: RequestFiles
  readonly hosts: GoneHostFiles
  readonly moves: MoveFiles
  readonly removed: RemovedAgentFiles
  readonly accounts: AccountFiles
  readonly contents: ContentFiles
  readonly local: AgentFiles
  readonly upkeep: FileUpkeep
  readonly visits: Markers
  readonly homeFormat: HomeFormat

  private constructor(
    readonly paths: HomePaths,
    readonly facts: HomeFacts,
    private readonly locks: LockSystem,
  ) {
    this.homeFormat = new HomeFormat(paths, facts)
    this.logs = new Logs(paths)
    this.snapshots = new Snapshots(paths)
    this.keys = new KeyIndexFiles(paths)
    this.visits = new Markers(paths, locks)
    this.mail = new Mailboxes(paths, this.visits)
    this.waits = new WaitEdges(paths, locks)
    this.slots = new Slots(paths, locks)
    this.requests = new RequestFiles(paths)
    this.hosts = new GoneHostFiles(paths)
    this.moves = new MoveFiles(paths)
    this.removed = new RemovedAgentFiles(paths)
    this.accounts = new AccountFiles(paths, locks)
    this.contents = new ContentFiles(paths, this.logs)
    this.local = new AgentFiles(paths, locks)
    this.upkeep = new FileUpkeep(paths, locks, this)
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

  private static create(paths: HomePaths, facts: HomeFacts): FileStore {
    const { isLocal } = fileSystemKind(paths.root)
    return new FileStore(paths, facts, { kind: facts.lock, isLocal })
  }

  get homeId(): string {
    return this.facts.home_id
  }

  get format(): number {
    return this.facts.format
  }

  get address(): string {
    return this.paths.root
  }

  label(thing: Thing): string {
    switch (thing.kind) {
      case 'home':
        return this.paths.root
      case 'config':
        return this.paths.configFile
      case 'agent':
        return this.paths.agent(thing.agentId).root
      case 'log':
        return this.paths.agent(thing.agentId).log
      case 'message':
        return this.mail.pathOf(thing.to, thing.messageId)
    }
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

  open(agentId: string): OpenedAgent | undefined {
    const snapshot = this.snapshots.read(agentId)
    const log = this.openLog(agentId)
    return log === undefined ? undefined : new OpenedFiles(this, agentId, snapshot, log)
  }

  openLog(agentId: string): FileLog | undefined {
    return this.logs.openForRead(agentId)
  }

  /** A second thread saved no time, also with 100,000 agents (docs/performance.md). */
  readAhead(): void {}

  peek<S extends KnownEnd>(
    agentId: string,
    heads: string[],
    parse: (snapshot: PeekedSnapshot) => S | undefined,
  ): S | undefined {
    // The snapshot is read first, as in `open`, so that an active writer can only have made the log longer.
    const peeked = this.snapshots.peek(agentId, heads)
    const end = peeked === undefined ? undefined : parse(peeked)
    const isEnd = end?.id === agentId && this.snapshots.isEndOfLog(end)
    return isEnd ? end : undefined
  }

  readBlob(agentId: string, reference: BlobReference): Buffer {
    return readBlob(this.paths.agent(agentId), reference)
  }

  makeDurable(agentId: string): void {
    this.visits.syncNameOf(agentId)
  }

  isHeld(agentId: string): boolean {
    return isHeld(this.locks, this.paths.agent(agentId).lock)
  }

  holder(agentId: string): Holder | undefined {
    return readHolder(this.paths.agent(agentId).lock)
  }

  async take(agentId: string, options: TakeOptions): Promise<Lease | undefined> {
    const lock = await this.hold(agentId, options)
    return lock === undefined
      ? undefined
      : this.leaseOf(agentId, lock, () => {
          this.visits.syncNameOf(agentId)
          // Without the marker no work may start (durability rule 7).
          this.visits.mark(agentId)
          this.hosts.withdrawOwn()
          this.upkeep.sweep(agentId)
        })
  }

  async create(birth: Birth): Promise<Lease> {
    // Before the agent exists: an earlier version must refuse the home as soon as one log has this format.
    this.homeFormat.assertRaised()
    return this.leaseOf(birth.agentId, await createAgent(this.paths, this.locks, birth))
  }

  private async leaseOf(agentId: string, lock: KernelLease, begin?: () => void): Promise<Lease> {
    try {
      begin?.()
      const log = this.logs.openForAppend(agentId, lock)
      return new AgentLease(agentId, this, lock, log, this.snapshots.read(agentId))
    } catch (error) {
      await lock.release()
      throw error
    }
  }

  /** One rename removes the agent whole. After a crash, a sweep deletes what was renamed. */
  remove(agentId: string, held: Right): void {
    held.assertHeld()
    const aside = this.paths.removedPath(agentId)
    io.rename('remove.aside', this.paths.agent(agentId).root, aside)
    io.syncDirectory('remove.sync_agents', this.paths.agents)
    io.removeTree('remove.tree', aside)
    io.unlink('server.forget', this.paths.server(agentId))
  }

  async hold(agentId: string, { command, waitMs, signal }: TakeOptions): Promise<KernelLease | undefined> {
    const { lock, log } = this.paths.agent(agentId)
    try {
      this.refuseExposed(agentId)
      return await waitForLease(this.locks, lock, command, waitMs, { signal, log })
    } catch (error) {
      throw this.hasAgent(agentId) ? error : agentGone(agentId)
    }
  }

  // Between agents

  names(parentId: string | null): NameIndex {
    const paths = parentId === null ? this.paths.rootNames() : this.paths.agent(parentId).childNames()
    const hasAgent = (id: string): boolean => this.hasAgent(id)
    return new NameIndex(paths, this.locks, hasAgent, () => {
      if (parentId === null) return
      // A child gets rights and options of its parent.
      this.refuseExposed(parentId)
      this.visits.syncNameOf(parentId)
    })
  }

  private refuseExposed(agentId: string): void {
    refuseExposedAgent(this.paths, this.paths.agent(agentId))
  }

  takeSlot(pool: string, slots: number, command: string): Promise<KernelLease | undefined> {
    return this.slots.tryTake(pool, slots, command)
  }

  async takeSender(agentId: string, command: string): Promise<KernelLease | undefined> {
    try {
      this.refuseExposed(agentId)
      return await tryLease(this.locks, this.paths.agent(agentId).sender, command)
    } catch (error) {
      if (this.hasAgent(agentId)) throw error
      return undefined
    }
  }

  // The home

  readConfig(): Buffer | undefined {
    const config = io.readIfThere('config.read', this.paths.configFile)
    if (config !== undefined) refuseExposedConfig(this.paths)
    return config
  }

  writeConfig(text: string): void {
    writeUserFile(this.paths.configFile, text, 0o600)
    // A migration that began meanwhile does not copy it.
    readHome(this.paths)
  }
}
