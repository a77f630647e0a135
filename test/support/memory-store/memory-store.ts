/**
 * A home in memory: the second kind of `Store`. It shows that the layers above need no file, and it lets tests run without a disk.
 * It ends with its process, so *durable* means here that other stores on the same home see it.
 */
import { createHash } from 'node:crypto'
import { mkdirSync } from 'node:fs'
import { assert, damagedConversation } from '../../../src/errors.js'
import { FORMAT } from '../../../src/format.js'
import { AgentFiles } from '../../../src/storage/local-files.js'
import { contains, oneByOne, recordsFound } from '../../../src/storage/log/found.js'
import { finderOf } from '../../../src/storage/log/needle.js'
import { LogReader } from '../../../src/storage/log/reader.js'
import { HomePaths } from '../../../src/storage/paths.js'
import {
  type Accounts,
  agentGone,
  type Batch,
  type Birth,
  type BlobReference,
  type Contents,
  createdElsewhere,
  type EndedMoves,
  type GoneHosts,
  type Holder,
  type Lease,
  type Names,
  type OpenedAgent,
  type OpenedLog,
  type RemovedAgent,
  type RemovedAgents,
  type Requests,
  type Rest,
  type Right,
  type StopRequest,
  type Store,
  type Tail,
  type TakeOptions,
  type Thing,
  type TurnEnd,
  type Unframed,
  type Visits,
  type Waits,
} from '../../../src/storage/store.js'
import { lockable, type MemoryAgent, MemoryHome, tryLock, waitForLock } from './memory-home.js'
import { MemoryKeys } from './memory-keys.js'
import { MemoryMail } from './memory-mail.js'
import { MemoryNameIndex } from './memory-names.js'
import { MemoryUpkeep } from './memory-upkeep.js'

export class MemoryStore implements Store {
  readonly isShared = false
  readonly mail: MemoryMail
  readonly keys: MemoryKeys
  readonly local: AgentFiles
  readonly upkeep: MemoryUpkeep
  readonly format = FORMAT

  /** `address`: a directory for the files of this host, such as sockets. */
  constructor(
    readonly address: string,
    readonly home = new MemoryHome(),
  ) {
    mkdirSync(address, { recursive: true })
    this.mail = new MemoryMail(home)
    this.keys = new MemoryKeys(home)
    this.local = new AgentFiles(new HomePaths(address), { kind: 'ofd', isLocal: true })
    this.upkeep = new MemoryUpkeep(home)
  }

  get homeId(): string {
    return this.home.homeId
  }

  label(thing: Thing): string {
    const { kind } = thing
    const name =
      kind === 'message' ? `${thing.to}/${thing.messageId}` : 'agentId' in thing ? thing.agentId : ''
    return `memory:${kind}/${name}`
  }

  agentIds(): string[] {
    return [...this.home.agents.keys()]
  }

  hasAgent(agentId: string): boolean {
    return this.home.agents.has(agentId)
  }

  open(agentId: string): OpenedAgent | undefined {
    const agent = this.home.agents.get(agentId)
    const log = this.openLog(agentId)
    if (agent === undefined || log === undefined) return undefined
    return {
      snapshot: unframed(agent.snapshot),
      log,
      isHeld: agent.lock.owner !== undefined,
      mailIds: [...agent.inbox.keys()],
    }
  }

  openLog(agentId: string): OpenedLog | undefined {
    const agent = this.home.agents.get(agentId)
    return agent === undefined ? undefined : new MemoryLog(this.label({ kind: 'log', agentId }), agent)
  }

  /** Nothing is faster here than to open the agent. */
  readAhead(): void {}

  peek(): undefined {
    return undefined
  }

  readBlob(agentId: string, { blob }: BlobReference): Buffer {
    const content = this.home.agents.get(agentId)?.blobs.get(blob)
    if (content !== undefined) return content
    throw damagedConversation(`the blob ${blob} is missing`, { hint: 'restore it', facts: { blob } })
  }

  makeDurable(): void {}

  isHeld(agentId: string): boolean {
    return this.home.agents.get(agentId)?.lock.owner !== undefined
  }

  holder(agentId: string): Holder | undefined {
    return this.home.agents.get(agentId)?.lock.holder
  }

  async hold(agentId: string, options: TakeOptions): Promise<Right | undefined> {
    const { command, waitMs, signal } = options
    return waitForLock(this.agent(agentId).lock, command, waitMs, signal)
  }

  async take(agentId: string, options: TakeOptions): Promise<Lease | undefined> {
    const held = await this.hold(agentId, options)
    if (held === undefined) return undefined
    const agent = this.home.agents.get(agentId)
    if (agent === undefined) throw agentGone(agentId)
    this.home.marked.add(agentId)
    return new MemoryLease(agentId, this.home, agent, held, this.label({ kind: 'log', agentId }))
  }

  async create({ agentId, log, snapshot, blobs, command, assertNameHeld }: Birth): Promise<Lease> {
    assertNameHeld?.()
    if (this.home.agents.has(agentId)) throw createdElsewhere(agentId)
    const agent: MemoryAgent = {
      log: Buffer.from(log),
      snapshot: JSON.stringify(snapshot),
      blobs: new Map(blobs.map((content) => [sha256(content), content])),
      inbox: new Map(),
      toReturn: new Map(),
      requests: [],
      watchers: new Set(),
      keys: undefined,
      waits: new Set(),
      arrivals: new Set(),
      lock: lockable(),
    }
    const held = tryLock(agent.lock, command) as Right
    this.home.agents.set(agentId, agent)
    this.home.marked.add(agentId)
    mkdirSync(this.local.logPath(agentId).replace(/\/[^/]*$/, ''), { recursive: true })
    return new MemoryLease(agentId, this.home, agent, held, this.label({ kind: 'log', agentId }))
  }

  remove(agentId: string, held: Right): void {
    held.assertHeld()
    this.home.agents.delete(agentId)
    this.home.marked.delete(agentId)
  }

  names(parentId: string | null): Names {
    return new MemoryNameIndex(this.home.namesBelow(parentId), (agentId) => this.hasAgent(agentId))
  }

  async takeSlot(pool: string, slots: number, command: string): Promise<Right | undefined> {
    const taken = this.home.slots.get(pool) ?? []
    this.home.slots.set(pool, taken)
    while (taken.length < slots) taken.push(lockable())
    for (const slot of taken.slice(0, slots)) {
      const right = tryLock(slot, command)
      if (right !== undefined) return right
    }
    return undefined
  }

  async takeSender(agentId: string, command: string): Promise<Right | undefined> {
    return this.hasAgent(agentId) ? this.takeSlot(`sender-${agentId}`, 1, command) : undefined
  }

  readConfig(): Buffer | undefined {
    return this.home.config
  }

  writeConfig(text: string): void {
    this.home.config = Buffer.from(text)
  }

  readonly visits: Visits = ((store: MemoryStore): Visits => ({
    mark: (agentId) => void store.home.marked.add(agentId),
    isMarked: (agentId) => store.home.marked.has(agentId),
    markedIds: () => [...store.home.marked],
    get isComplete() {
      return store.home.hasAllMarks
    },
    markComplete: () => {
      store.home.hasAllMarks = true
    },
    get lastTick() {
      return store.home.lastTick
    },
    markTick: (at) => {
      store.home.lastTick = at
    },
    unmarkAbsent: (agentId) => {
      if (!store.hasAgent(agentId)) store.home.marked.delete(agentId)
    },
    sweep: () => 0,
  }))(this)

  readonly requests: Requests = {
    put: (agentId, runId, verb, by) => {
      const agent = this.agent(agentId)
      const isThere = agent.requests.some((request) => request.runId === runId && request.verb === verb)
      if (!isThere) agent.requests.push({ runId, verb, ...(by === undefined ? {} : { by }) })
      for (const look of agent.watchers) queueMicrotask(look)
    },
    requestsTo: (agentId) => [...(this.home.agents.get(agentId)?.requests ?? [])],
    remove: (agentId, runId, verb) => {
      const agent = this.agent(agentId)
      agent.requests = agent.requests.filter((each) => each.runId !== runId || each.verb !== verb)
    },
    watch: (agentId, onRequests) => {
      const look = (): void => onRequests(this.requests.requestsTo(agentId))
      const watchers = this.home.agents.get(agentId)?.watchers
      watchers?.add(look)
      look()
      return { close: () => void watchers?.delete(look) }
    },
  }

  readonly waits: Waits = {
    add: async (waiterId, to) => {
      const { waits } = this.agent(waiterId)
      const edge = { to }
      waits.add(edge)
      return { release: async () => void waits.delete(edge) }
    },
    edgesOf: (agentId) => [...new Set([...(this.home.agents.get(agentId)?.waits ?? [])].map(({ to }) => to))],
    arrive: async (agentId) => {
      const { arrivals } = this.agent(agentId)
      const arrival = { since: new Date().toISOString() }
      arrivals.add(arrival)
      return { release: async () => void arrivals.delete(arrival) }
    },
    arrivals: (agentId) => [...(this.home.agents.get(agentId)?.arrivals ?? [])].map(({ since }) => since),
  }

  readonly contents: Contents = {
    recordsWith: (agentIds, needle) =>
      oneByOne(agentIds, (agentId) => {
        const agent = this.agent(agentId)
        const finder = finderOf(needle)
        const found = [...agent.blobs].filter(([, content]) => contains([content], finder))
        return recordsFound(new MemoryLog('', agent), finder, new Set(found.map(([blob]) => blob)))
      }),
    blobParts: (agentId, { blob }) => {
      const content = this.agent(agentId).blobs.get(blob)
      return content === undefined ? [] : [content]
    },
  }

  readonly moves: EndedMoves = {
    has: (agentId, moveId) => this.home.endedMoves.has(`${agentId}.${moveId}`),
    add: (agentId, moveIds) => {
      for (const moveId of moveIds) this.home.endedMoves.add(`${agentId}.${moveId}`)
    },
  }

  readonly removed: RemovedAgents = {
    put: (removed) => void this.home.removed.set(removed.agent_id, structuredClone(removed)),
    all: () =>
      [...this.home.removed.keys()].sort().map((agentId) => ({
        agentId,
        removed: structuredClone(this.home.removed.get(agentId)) as RemovedAgent,
      })),
  }

  readonly accounts: Accounts = {
    isUsed: true,
    open: (scope) => {
      this.home.account(scope).isTrusted = false
    },
    read: (scope) => structuredClone(this.home.account(scope)),
    exchange: async (scopes, _command, decide) => {
      const known = scopes.map((scope) => this.home.account(scope))
      decide(structuredClone(known)).forEach((entries, index) => {
        const account = known[index]
        if (entries === undefined || account === undefined) return
        const others = account.isTrusted
          ? account.entries.filter(({ agentId }) => entries.every((entry) => entry.agentId !== agentId))
          : []
        account.entries = [...others, ...structuredClone(entries)]
        account.isTrusted = true
      })
    },
  }

  readonly hosts: GoneHosts = {
    has: (kernelBootId) => this.home.gone.has(kernelBootId),
    all: () => [...this.home.gone.values()],
    declare: (host) => void this.home.gone.set(host.kernel_boot_id, host),
  }

  private agent(agentId: string): MemoryAgent {
    const agent = this.home.agents.get(agentId)
    if (agent === undefined) throw agentGone(agentId)
    return agent
  }
}

class MemoryLog extends LogReader implements OpenedLog {
  private readonly end: number

  constructor(
    readonly path: string,
    private readonly agent: MemoryAgent,
  ) {
    super()
    this.end = agent.log.length
  }

  size(): number {
    return this.end
  }

  read(from: number, to: number): Buffer {
    return this.agent.log.subarray(from, Math.min(to, this.end))
  }

  sync(): void {}

  close(): void {}
}

/** The log as its holder sees it: with what the holder has appended. */
class HeldLog extends LogReader {
  constructor(
    readonly path: string,
    private readonly agent: MemoryAgent,
  ) {
    super()
  }

  size(): number {
    return this.agent.log.length
  }

  read(from: number, to: number): Buffer {
    return this.agent.log.subarray(from, Math.min(to, this.agent.log.length))
  }
}

class MemoryLease implements Lease {
  readonly snapshot: Unframed
  readonly log: LogReader
  private lastBatchId: string | undefined

  constructor(
    readonly agentId: string,
    private readonly home: MemoryHome,
    private readonly agent: MemoryAgent,
    private readonly held: Right,
    path: string,
  ) {
    this.snapshot = unframed(agent.snapshot)
    this.log = new HeldLog(path, agent)
  }

  get requests(): StopRequest[] {
    return [...this.agent.requests]
  }

  get mailIds(): string[] {
    return [...this.agent.inbox.keys()]
  }

  assertHeld(): void {
    this.held.assertHeld()
  }

  /** Every append is whole and durable, so there is no tail to repair. */
  repair({ openRunId }: Tail): void {
    this.held.assertHeld()
    this.agent.requests = this.agent.requests.filter(({ runId }) => runId === openRunId)
  }

  writeBlob(content: Buffer): BlobReference {
    this.held.assertHeld()
    const blob = sha256(content)
    this.agent.blobs.set(blob, content)
    return { blob, bytes: content.length }
  }

  append({ id, offset, bytes, blobs }: Batch): void {
    this.held.assertHeld()
    if (id === this.lastBatchId) return
    assert(offset === this.agent.log.length, 'a batch begins at the end of its log')
    for (const content of blobs) this.writeBlob(content)
    this.agent.log = Buffer.concat([this.agent.log, bytes])
    this.lastBatchId = id
  }

  /** Here in tests only: nothing is faster. */
  endTurn(batch: Batch, { mailIds, snapshot }: TurnEnd): boolean {
    this.held.assertHeld()
    if (batch.id !== this.lastBatchId && !isSame(mailIds, this.mailIds)) return false
    this.append(batch)
    if (snapshot !== undefined) void this.rest({ snapshot, needsVisit: false })
    return true
  }

  async rest({ snapshot, needsVisit }: Rest): Promise<void> {
    this.held.assertHeld()
    if (snapshot !== undefined) this.agent.snapshot = JSON.stringify(snapshot)
    if (!needsVisit && this.agent.inbox.size === 0) {
      this.home.marked.delete(this.agentId)
      this.agent.requests = []
    }
    await this.release()
  }

  release(): Promise<void> {
    return this.held.release()
  }
}

function isSame(some: string[], others: string[]): boolean {
  return JSON.stringify([...some].sort()) === JSON.stringify([...others].sort())
}

function unframed(json: string | undefined): Unframed {
  return json === undefined ? { damage: 'it is missing' } : { object: JSON.parse(json) }
}

function sha256(content: Buffer): string {
  return createHash('sha256').update(content).digest('hex')
}
