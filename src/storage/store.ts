/**
 * The interface of a home for the layers above. `FileStore` keeps a home in files, `MemoryStore` in memory, and one suite,
 * `substrat/store-conformance`, tests what is promised here.
 *
 * Each call is one request, so that a store on another machine needs one round trip for it. Calls are synchronous, because each
 * persisted step of a turn is a critical section. Only taking a right may take time.
 *
 * An agent is *held* by the process that has its *lease*, the exclusive right to write it. It is *marked* if it may need a visit.
 * *Durable* means that no crash or power cut can take it back once the call has returned.
 */
import type { Unframed } from './log/frame.js'
import type { LogReader } from './log/reader.js'
import type {
  Accounts,
  BlobReference,
  Contents,
  EndedMoves,
  GoneHosts,
  Holder,
  KeyIndexes,
  LocalFiles,
  Mail,
  Names,
  RemovedAgents,
  Requests,
  Right,
  StopRequest,
  Upkeep,
  Visits,
  Waits,
} from './parts.js'

export { agentGone, createdElsewhere } from './agent-gone.js'
export { BatchLines } from './log/batch-lines.js'
export { BytesLog } from './log/bytes-log.js'
export type { Unframed } from './log/frame.js'
export type { KeyPlace, KeyRetention } from './log/key-entries.js'
export { LogPrefix } from './log/log-prefix.js'
export type { LogReader } from './log/reader.js'
export type { LogDamage, LoggedRecord } from './log/scan.js'
export type { IntactEnd } from './log/tail.js'
export type * from './parts.js'

export interface Store {
  /** The same for every process and host that uses the home. */
  readonly homeId: string
  /** The format of the home when it was opened. */
  readonly format: number
  /** The value of SUBSTRAT_HOME with which another process opens this home. */
  readonly address: string
  /** Whether several hosts use the home. Each agent then belongs to the host with its workspace. */
  readonly isShared: boolean
  /** Where a person finds it. Never parsed. */
  label(thing: Thing): string

  agentIds(): string[]
  hasAgent(agentId: string): boolean
  /** The agent at one moment, without its lease. Undefined if there is no such agent. The caller closes its log. */
  open(agentId: string): OpenedAgent | undefined
  /** The same without the snapshot, for callers that know their place in the log. */
  openLog(agentId: string): OpenedLog | undefined
  /**
   * The caller will look at these agents in this order, until it calls this again, with no agents at last. A store may read many of
   * them by one request: `peek`, `open`, `isHeld` and the ids of their mail are then of that moment.
   */
  readAhead(agentIds: string[]): void
  /**
   * Fast path for lists of very many agents: the result of `parse` for a small snapshot that begins with one of the heads and
   * covers the whole log. Undefined for any other; then `open` the agent.
   */
  peek<S extends KnownEnd>(
    agentId: string,
    heads: string[],
    parse: (snapshot: PeekedSnapshot) => S | undefined,
  ): S | undefined
  /** Throws CORRUPT if the blob is missing or damaged. */
  readBlob(agentId: string, reference: BlobReference): Buffer
  /** Makes the creation of an agent durable. Call it before acknowledging anything in an agent that another process created. */
  makeDurable(agentId: string): void
  isHeld(agentId: string): boolean
  /** The last process that took the agent. Undefined if it is unknown. */
  holder(agentId: string): Holder | undefined

  /** Holds, marks and opens the agent. Undefined if another process still holds it after `waitMs`. */
  take(agentId: string, options: TakeOptions): Promise<Lease | undefined>
  /**
   * Creates the agent with its first batch, marked and held by this process. After a crash it exists whole or not at all. Throws
   * LOCKED if it exists, or if another process is creating it.
   */
  create(birth: Birth): Promise<Lease>
  /** The right to an agent without its log, which may be damaged. Undefined if another process still holds it after `waitMs`. */
  hold(agentId: string, options: TakeOptions): Promise<Right | undefined>
  /** Removes an agent that this process holds. After a crash it is gone whole, or not at all. Its marker may stay until `unmarkAbsent`. */
  remove(agentId: string, held: Right): void

  /** The names below an agent, or of the roots. */
  names(parentId: string | null): Names
  readonly mail: Mail
  readonly keys: KeyIndexes
  readonly visits: Visits
  readonly requests: Requests
  readonly waits: Waits
  readonly hosts: GoneHosts
  readonly moves: EndedMoves
  readonly removed: RemovedAgents
  /** Undefined in a store without budgets: no cap can be set in its homes. */
  readonly accounts?: Accounts
  readonly contents: Contents
  /**
   * Takes one of the slots of a pool. Undefined if other processes have them all. A released slot is free in the next turn of the
   * event loop.
   */
  takeSlot(pool: string, slots: number, command: string): Promise<Right | undefined>
  /**
   * Takes the right to send the outbound messages of an agent, which another process may hold meanwhile. Undefined if another
   * process has that right, or the agent is gone.
   */
  takeSender(agentId: string, command: string): Promise<Right | undefined>

  /** Only in a home of another machine. Without it, a reader looks often. */
  readonly changes?: Changes
  /** Variables that a command of this program needs for the home. A program of an agent must not get them. */
  readonly commandEnvironment?: Record<string, string>

  readConfig(): Buffer | undefined
  /** Durable. */
  writeConfig(text: string): void
  /** The things of agents on this host only. */
  readonly local: LocalFiles
  readonly upkeep: Upkeep
}

/** Calls back when records may be new. A call may be late or lost, so a reader also looks every `everyMs`. */
export interface Changes {
  readonly everyMs: number
  /** Null: of any agent. */
  follow(agentId: string | null, onChange: () => void): { close(): void }
}

export type Thing =
  | { kind: 'home' | 'config' }
  | { kind: 'agent' | 'log'; agentId: string }
  | { kind: 'message'; to: string; messageId: string }

export interface OpenedAgent {
  /** Read before the log, so it is never newer. */
  readonly snapshot: Unframed
  readonly log: OpenedLog
  /** Whether a process holds the agent. */
  readonly isHeld: boolean
  /** That process, if the store reads it with the agent. Otherwise `holder` of the store reads it. */
  readonly holder?: Holder | undefined
  /** The ids of the messages in the inbox. */
  readonly mailIds: string[]
}

/** A log with the size that it had when it was opened. */
export interface OpenedLog extends LogReader {
  /** Makes it durable. Call it before acknowledging what was read: the writer may not have done so (durability rule 1). */
  sync(): void
  close(): void
}

export interface TakeOptions {
  /** The command, for other users. */
  command: string
  /** How long to wait for a busy agent. At least 50 ms. */
  waitMs: number
  signal?: AbortSignal | undefined
  /**
   * The slots of which the caller will take one next. A store on another machine may take it with an idle agent, in one request. Its
   * `takeSlot` then returns it, and an unused one is released with the lease.
   */
  slots?: SlotPool | undefined
}

export interface SlotPool {
  pool: string
  slots: number
}

/**
 * The right to write one agent, and the agent as it was when the right was taken. Without the right each method throws LOCKED and
 * changes nothing.
 */
export interface Lease extends Right {
  readonly agentId: string
  readonly snapshot: Unframed
  readonly log: LogReader
  /** Requests to stop a run of the agent, also to runs that have ended. */
  readonly requests: StopRequest[]
  /** The ids of the messages in the inbox now. The first read of it comes with the lease. */
  readonly mailIds: string[]
  /**
   * Repairs what a dead writer left: cuts the bytes after the last whole batch, makes the others durable (durability rules 4 and 5),
   * and removes requests to runs that have ended.
   */
  repair(tail: Tail): void
  /** Stores content that the next batch names. Durable. */
  writeBlob(content: Buffer): BlobReference
  /**
   * Durable, with its blobs. After a crash in it, recovery finds the batch whole or not at all. STORAGE_FAILED means that the log
   * is unchanged; SYNC_FAILED and LOCKED mean that the outcome is unknown.
   */
  append(batch: Batch): void
  /**
   * Leaves the agent and releases it: the snapshot, and whether it stays marked. Mail keeps it marked in any case. An agent that is
   * not marked has no stop request.
   */
  rest(rest: Rest): Promise<void>
  /**
   * Only in stores on another machine: `append` for the batch that ends a turn, in one request with the end of the visit. False if the
   * inbox does not have exactly the messages of `end`: then nothing was appended.
   */
  endTurn?(batch: Batch, end: TurnEnd): boolean
  /** Only in homes whose leases end by themselves, unless they are renewed. The programs of the agent die when the lease ends. */
  deadline?(): LeaseDeadline
  /** With `deadline`: for how long, at least, every earlier lease of the agent has been over. */
  soleForMs?(): number
}

/**
 * A file on this host with a line: the uptime of the machine at which the lease ends, in hundredths of a second, and the id of the
 * lease. Each renewal replaces it. A file of another lease means that this one is over.
 */
export interface LeaseDeadline {
  file: string
  lease: string
}

/** The records of one append, as the session encodes them. */
export interface Batch {
  /** Random. A batch that is appended twice is there once. */
  id: string
  /** The end of the log as the session knows it, where the batch begins. At any other end the append throws. */
  offset: number
  /** Lines of the log. */
  bytes: Buffer
  /** Content that the lines name by hash. */
  blobs: Buffer[]
  /** Whether these are the first records of the current format in a log of an earlier format. */
  isUpgrade: boolean
}

/** The inbox that the batch that ends a turn relies on, and the end of the visit. */
export interface TurnEnd {
  /** The ids of the messages in the inbox, as the caller read it last. */
  mailIds: string[]
  /** With it, the agent is left as by `rest`, and needs no visit. */
  snapshot: object | undefined
}

/** The end of a log that a dead writer left. */
export interface Tail {
  /** Every byte before it is durable. */
  synced: number
  /** The end of the last whole batch. The bytes after it were never acknowledged. */
  end: number
  /** Null if no run is open. */
  openRunId: string | null
}

/** How a holder leaves an agent. */
export interface Rest {
  /** Undefined if the stored snapshot is current. */
  snapshot: object | undefined
  /** Whether the agent needs a visit, also if it has no mail. */
  needsVisit: boolean
}

export interface Birth {
  agentId: string
  /** The first batch. */
  log: Buffer
  snapshot: object
  /** Content that the first batch names. */
  blobs: Buffer[]
  command: string
  /** Throws if this process no longer holds the names among which the agent gets its own. */
  assertNameHeld?: () => void
}

/** The end of a log, as a snapshot records it. */
export interface KnownEnd {
  id: string
  last_offset: number
  log_bytes: number
  last_seq: number
  updated_at: string
}

/** A snapshot that begins with a known head. */
export interface PeekedSnapshot {
  head: string
  /** The text of its fields. With `latin1`, each byte is one character, which takes half the time. Call it within `parse`. */
  text(encoding: 'utf8' | 'latin1'): string
}
