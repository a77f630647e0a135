/**
 * A home in PostgreSQL. The protocol is in the functions of its schema, so that no client can break it; this class calls them.
 *
 * Each call is one statement, and each statement one transaction.
 */
import type {
  Birth,
  BlobReference,
  Holder,
  KnownEnd,
  Lease,
  Names,
  OpenedAgent,
  OpenedLog,
  PeekedSnapshot,
  Right,
  Store,
  TakeOptions,
  Thing,
} from 'substrat/store'
import { accountsOf } from './accounts.js'
import { AgentLease, requestsIn, snapshotValues, unframedSnapshot } from './agent-lease.js'
import { bytesOf } from './client.js'
import { keysOf } from './keys.js'
import { localFilesOf, newDeadlineFile } from './local.js'
import { openRemoteLog } from './log.js'
import { RemoteMail } from './mail.js'
import { RemoteNames } from './names.js'
import { changesOf, contentsOf, hostsOf, movesOf, removedOf, requestsOf, visitsOf, waitsOf } from './parts.js'
import type { Row } from './protocol.js'
import { call, HeldRight, holderIn, isHeldIn, ownHolder, type Shared, tryHold, waitFor } from './rights.js'
import { Seen } from './seen.js'
import { thingsOf } from './slots.js'
import { SnapshotPrefetch } from './snapshot-prefetch.js'
import { type Taken, tryTake } from './take.js'
import { upkeepOf } from './upkeep.js'
import { uptimeMs } from './uptime.js'

export class PostgresStore implements Store {
  readonly isShared = true
  readonly homeId: string
  readonly format: number
  readonly address: string
  readonly mail: RemoteMail
  readonly keys: Store['keys']
  readonly visits: Store['visits']
  readonly requests: Store['requests']
  readonly waits: Store['waits']
  readonly hosts: Store['hosts']
  readonly moves: Store['moves']
  readonly removed: Store['removed']
  readonly accounts: NonNullable<Store['accounts']>
  readonly contents: Store['contents']
  readonly local: Store['local']
  readonly upkeep: Store['upkeep']
  readonly changes: Store['changes']
  readonly commandEnvironment: Record<string, string>
  private readonly snapshotPrefetch: SnapshotPrefetch
  private readonly held = new Map<string, HeldRight>()
  /** The agents, when they were listed last. */
  private ids: string[] = []

  /** `hello`: the facts of the home, and its settings as they were at that moment. */
  constructor(
    private readonly shared: Shared,
    private hello: Row | undefined,
  ) {
    this.homeId = hello?.home_id as string
    this.format = Number(hello?.format)
    this.address = shared.url
    shared.seen = new Seen(shared.kit, this.homeId)
    this.mail = new RemoteMail(shared)
    this.keys = keysOf(shared)
    this.visits = visitsOf(shared)
    this.requests = requestsOf(shared)
    this.waits = waitsOf(shared)
    this.hosts = hostsOf(shared)
    this.moves = movesOf(shared)
    this.removed = removedOf(shared)
    this.accounts = accountsOf(shared, hello?.has_accounts === true)
    this.contents = contentsOf(shared)
    this.local = localFilesOf(shared.kit, this.homeId, (agentId) => this.label({ kind: 'log', agentId }))
    this.snapshotPrefetch = new SnapshotPrefetch(shared)
    this.changes = changesOf(shared)
    this.commandEnvironment = shared.password === undefined ? {} : { PGPASSWORD: shared.password }
    this.upkeep = upkeepOf(shared, (agentId) => {
      const right = this.held.get(agentId)
      shared.kit.assert(right !== undefined, 'an upkeep needs the agent')
      return right
    })
  }

  label(thing: Thing): string {
    if (thing.kind === 'message') return `${this.address}/mail/${thing.to}/${thing.messageId}`
    if ('agentId' in thing) return `${this.address}/agents/${thing.agentId}`
    return this.address
  }

  agentIds(): string[] {
    this.ids = call(
      this.shared,
      undefined,
      (client) => client.takeAhead<string[]>('agents') ?? client.list('agents'),
    )
    return this.ids
  }

  hasAgent(agentId: string): boolean {
    return call(this.shared, agentId, (client) => client.list('has_agent', agentId))[0] === true
  }

  open(agentId: string): OpenedAgent | undefined {
    const row = this.row(agentId)
    if (row === undefined) return undefined
    return {
      snapshot: unframedSnapshot(this.shared, bytesOf(row.snapshot)),
      log: this.logIn(agentId, row),
      isHeld: isHeldIn(this.shared, row),
      holder: holderIn(this.shared, row),
      mailIds: row.mail as string[],
    }
  }

  private row(agentId: string): Row | undefined {
    const part = `open/${agentId}`
    const listed = this.shared.pages.find(agentId)
    if (listed !== undefined) return listed.row
    return call(this.shared, agentId, (client) => client.readOnce(part, 'open_agent', agentId))[0]
  }

  openLog(agentId: string): OpenedLog | undefined {
    return this.open(agentId)?.log
  }

  readAhead(agentIds: string[]): void {
    this.snapshotPrefetch.readAhead(agentIds, this.ids)
    this.shared.pages.begin(agentIds, (id) => this.snapshotPrefetch.has(id))
  }

  peek<S extends KnownEnd>(
    agentId: string,
    heads: string[],
    parse: (snapshot: PeekedSnapshot) => S | undefined,
  ): S | undefined {
    return this.snapshotPrefetch.peek(agentId, heads, parse)
  }

  readBlob(agentId: string, { blob }: BlobReference): Buffer {
    const [content] = call(this.shared, agentId, (client) => client.list('read_blob', agentId, blob))
    if (content !== undefined) return bytesOf(content)
    throw this.shared.kit.damagedConversation(`the blob ${blob} is missing`, {
      hint: 'restore the database from a backup',
      facts: { blob },
    })
  }

  /** Every visible change is committed. */
  makeDurable(): void {}

  isHeld(agentId: string): boolean {
    const listed = this.shared.pages.find(agentId)?.row
    if (listed !== undefined) return isHeldIn(this.shared, listed)
    const [row] = call(this.shared, agentId, (client) => client.read('holder', agentId))
    return row !== undefined && isHeldIn(this.shared, row)
  }

  holder(agentId: string): Holder | undefined {
    const [row] = call(this.shared, agentId, (client) => client.read('holder', agentId))
    return row === undefined ? undefined : holderIn(this.shared, row)
  }

  async take(agentId: string, options: TakeOptions): Promise<Lease | undefined> {
    const taken = await waitFor(this.shared, options, (leftMs) =>
      this.tryTake(agentId, options, { opens: true, leftMs }),
    )
    if (taken === undefined) return undefined
    const { right, row } = taken
    return new AgentLease(agentId, this.shared, right, {
      log: this.logIn(agentId, row),
      snapshot: unframedSnapshot(this.shared, bytesOf(row.snapshot)),
      requests: requestsIn(row.requests),
      mailIds: row.mail as string[],
      // Positive from the functions of an earlier plugin.
      overMs: Math.max(0, -Number(row.left_ms)),
      newDeadlineFile: () => this.newDeadlineFile(agentId),
    })
  }

  async hold(agentId: string, options: TakeOptions): Promise<Right | undefined> {
    return (
      await waitFor(this.shared, options, (leftMs) =>
        this.tryTake(agentId, options, { opens: false, leftMs }),
      )
    )?.right
  }

  private tryTake(
    agentId: string,
    options: TakeOptions,
    how: { opens: boolean; leftMs: number },
  ): Taken | undefined {
    const taken = tryTake(this.shared, agentId, options, how)
    if (taken !== undefined) this.held.set(agentId, taken.right)
    return taken
  }

  async create({ agentId, log, snapshot, blobs, command, assertNameHeld }: Birth): Promise<Lease> {
    const { shared } = this
    const { kit, client } = shared
    const fences = this.assertedBy(assertNameHeld)
    const lease = kit.randomUuid()
    const sentMs = uptimeMs()
    const ends = snapshotValues(shared, snapshot)
    const values = [
      agentId,
      lease,
      ownHolder(shared, command),
      client.ttlMs,
      log,
      ...ends,
      blobs,
      kit.FORMAT,
      fences,
    ]
    // Its lease counts from now on, so it does not wait for longer than that.
    const untilMs = sentMs + client.ttlMs / 4
    call(shared, agentId, () =>
      client.call('create_agent', values, { fullUntilMs: untilMs, lockUntilMs: untilMs }),
    )
    const right = new HeldRight(shared, 'agent', agentId, lease, sentMs)
    this.held.set(agentId, right)
    return new AgentLease(agentId, shared, right, {
      log: openRemoteLog(shared, agentId, log.length, { from: 0, bytes: Buffer.from(log) }),
      snapshot: kit.unframeFile(kit.frame(snapshot)),
      requests: [],
      mailIds: [],
      overMs: 0,
      newDeadlineFile: () => this.newDeadlineFile(agentId),
    })
  }

  private newDeadlineFile(agentId: string): string {
    return newDeadlineFile(this.shared.kit, this.homeId, agentId)
  }

  /** The leases that the check asserts. The database checks them again in the transaction that creates the agent. */
  private assertedBy(check: (() => void) | undefined): Record<string, string> {
    const asserted: HeldRight[] = []
    this.shared.asserted = asserted
    try {
      check?.()
    } finally {
      this.shared.asserted = undefined
    }
    return Object.fromEntries(asserted.map(({ key, lease }) => [key, lease]))
  }

  remove(agentId: string, held: Right): void {
    held.assertHeld()
    const right = this.held.get(agentId)
    this.shared.kit.assert(right !== undefined, 'an agent is removed by its holder')
    call(this.shared, agentId, (client) => client.call('remove_agent', [agentId, right.lease]))
    right.end()
  }

  names(parentId: string | null): Names {
    return new RemoteNames(this.shared, parentId)
  }

  async takeSlot(pool: string, slots: number, command: string): Promise<Right | undefined> {
    const spare = this.shared.slots.takeSpare({ pool, slots })
    if (spare !== undefined) return spare
    this.shared.slots.flush()
    return tryHold(this.shared, thingsOf({ pool, slots }), command)
  }

  async takeSender(agentId: string, command: string): Promise<Right | undefined> {
    return this.hasAgent(agentId) ? tryHold(this.shared, [`sender/${agentId}`], command) : undefined
  }

  readConfig(): Buffer | undefined {
    const [row] =
      this.hello === undefined ? call(this.shared, undefined, (client) => client.read('hello')) : [this.hello]
    this.hello = undefined
    return row?.config == null ? undefined : bytesOf(row.config)
  }

  writeConfig(text: string): void {
    this.hello = undefined
    this.shared.client.forgetHello()
    call(this.shared, undefined, (client) => client.call('write_config', [Buffer.from(text)]))
  }

  private logIn(agentId: string, row: Row) {
    const first = { from: Number(row.tail_from), bytes: bytesOf(row.tail) }
    return openRemoteLog(this.shared, agentId, Number(row.log_bytes), first)
  }
}
