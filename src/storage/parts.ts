/** The parts of a store: names, mail, requests and other things between agents. See `store.ts`. */
import type { Duplex } from 'node:stream'
import type { SubstratError } from '../errors.js'
import type { ProgramFiles } from '../files/program-files.js'
import type { Amounts, JsonObject, RemovedAgent } from '../format.js'
import type { Unframed } from './log/frame.js'
import type { Entry, Unseen } from './survey.js'

export type { RemovedAgent } from '../format.js'
export type {
  KeyDifference,
  KeyIndex,
  KeyIndexEnd,
  KeyIndexes,
  SalvagedKeys,
} from './key-indexes.js'
export type { Entry, Unseen } from './survey.js'

/** A right that one process has at a time. It ends with the process. */
export interface Right {
  /** Throws LOCKED if the right was lost. */
  assertHeld(): void
  release(): Promise<void>
}

/** The process that has a right. For people: it never decides whether that process lives. */
export interface Holder {
  pid: number
  host: string
  command: string
  /** ISO 8601, in UTC. */
  since: string
  boot_id: string
  /** Undefined without a machine-id. */
  host_id?: string | undefined
  /** When the right ends unless it is renewed. Undefined if it lasts as long as the process. */
  lease_ends_at?: string | undefined
}

export interface BlobReference {
  /** SHA-256 of the content, in hex. */
  blob: string
  bytes: number
}

/**
 * The names below one parent, each with the id of its latest agent. Changes need the lock.
 *
 * An entry is durable before its agent exists, so every living agent with a name is found. An entry may name an agent that was
 * never created or no longer exists. If `isComplete` is false, entries may be lost.
 */
export interface Names {
  readonly isComplete: boolean
  readonly isHeld: boolean
  lookUp(name: string): string | undefined
  /** The agent with the name, if it exists. `unknown` if entries are lost, or the entry leads to no agent. */
  find(name: string): string | 'none' | 'unknown'
  /** Whether a miss proves that no agent has the name. */
  isMissTrusted(name: string): boolean
  /** The name in the agent's entry. */
  nameOf(agentId: string): string | undefined
  /** The agents of all entries. Undefined if entries may be lost. */
  ids(): string[] | undefined
  entries(): NameEntry[]
  /** Never less than the number of living agents. */
  count(): number
  lock(command: string): Promise<Right>
  /** Durable. */
  reserve(name: string, agentId: string): void
  forget(name: string): void
  /** Removes a damaged entry, or one without an agent. */
  discard(entry: NameEntry): void
  markComplete(): void
}

export interface NameEntry {
  path: string
  /** Undefined if the entry is damaged. */
  agentId: string | undefined
}

/** The pending messages of agents and of the operator. */
export interface Mail {
  /**
   * Stores the message and marks its recipient, so that no process that leaves the recipient meanwhile can miss it. Durable. False if
   * a message with that id is already stored, or the operator has taken it.
   */
  put(to: string, messageId: string, message: object): boolean
  /** Replaces a pending message. Durable. */
  replace(to: string, messageId: string, message: object): void
  ids(to: string): string[]
  read(to: string, messageId: string): Unframed | undefined
  /** A power cut may bring the message back until `syncRemovals`. False if it was already gone. */
  remove(to: string, messageId: string): boolean
  syncRemovals(to: string): void
  /** Sets a message apart for return, so that its sender can no longer withdraw it. False if it is already gone. */
  setToReturn(agentId: string, messageId: string): boolean
  idsToReturn(agentId: string): string[]
  readToReturn(agentId: string, messageId: string): Unframed | undefined
  removeReturned(agentId: string, messageId: string): void
  /** Undoes `setToReturn` for an unreadable message. */
  keepUnreturned(agentId: string, messageId: string): void
  /** Takes a message from the operator's inbox. Durable. */
  take(messageId: string): void
  /** Forgets messages that the operator took before that time. Returns their number; with `isDryRun` it only counts. */
  forgetTaken(beforeMs: number, isDryRun: boolean): number
  /** Puts a damaged message out of the inbox, and returns where a person finds it. Durable. */
  setAside(to: string, messageId: string): string
}

/** Which agents may need a visit. */
export interface Visits {
  mark(agentId: string): void
  isMarked(agentId: string): boolean
  markedIds(): string[]
  /** Whether every agent that needs a visit is marked. Otherwise, as after a boot, all agents must be visited. */
  readonly isComplete: boolean
  markComplete(): void
  /**
   * When a command last began the due turns of schedules. Undefined if none has, since the home has schedules. It is not durable: it
   * serves only to notice that no timer runs.
   */
  readonly lastTick: string | undefined
  markTick(at: string): void
  /** Unmarks an agent that does not exist and is not being created. */
  unmarkAbsent(agentId: string): void
  /** Removes what dead writers left in the home. Returns how much. */
  sweep(): number
}

export type RequestVerb = 'suspend' | 'terminate' | 'cancel'

/** Requests to the holder of an agent to stop a run. They are not durable. */
export interface Requests {
  /** `by`: the actor, for the holder's record. A second request of the same verb changes nothing. */
  put(agentId: string, runId: string, verb: RequestVerb, by?: object): void
  requestsTo(agentId: string): StopRequest[]
  remove(agentId: string, runId: string, verb: RequestVerb): void
  /** Calls back at once, and after each change, with all requests to the agent. */
  watch(agentId: string, onRequests: (requests: StopRequest[]) => void): { close(): void }
}

export interface StopRequest {
  runId: string
  verb: RequestVerb
  /** As it was given to `put`. Undefined also if it cannot be read. */
  by?: object
}

/** Which agents wait for which. A wait ends with its process. */
export interface Waits {
  add(waiterId: string, recipientId: string, command: string): Promise<Pick<Right, 'release'>>
  edgesOf(agentId: string): string[]
  /** Says that this process waits for the agent with a message, until the release or the end of the process. */
  arrive(agentId: string, command: string): Promise<Pick<Right, 'release'>>
  /** When each living process that waits so began to, in ISO 8601 and UTC. */
  arrivals(agentId: string): string[]
}

/** One boot of a host. */
export interface GoneHost {
  kernel_boot_id: string
  host_id: string
  host_name: string | null
}

/** Hosts that a person has declared dead. A host that takes an agent is alive: that withdraws the declaration, durably. */
export interface GoneHosts {
  has(kernelBootId: string): boolean
  all(): GoneHost[]
  /** Durable. */
  declare(host: GoneHost): void
}

/** The moves that ended in this home for agents that were removed since. */
export interface EndedMoves {
  has(agentId: string, moveId: string): boolean
  /** Durable. Call it before the agent is removed. */
  add(agentId: string, moveIds: string[]): void
}

/** The usage of agents that were removed. */
export interface RemovedAgents {
  /** Replaces what is there. Durable. Call it before the agent is removed. */
  put(removed: RemovedAgent): void
  /** In the order of the ids. Without `removed`, it is damaged. A crash may leave one of an agent that exists. */
  all(): { agentId: string; removed?: RemovedAgent }[]
}

/** The use of one agent under the caps over it. */
export interface AccountEntry {
  agentId: string
  /** By the name of the window: `total`, `hour`, … What was granted is subtracted. */
  windows: Record<string, { id: string; spent: Amounts }>
  /** The hold of its running request. */
  hold?: Amounts | undefined
}

export interface Account {
  /** False after a boot, after damage, and for a new account: the logs have the truth, and entries may be missing. */
  isTrusted: boolean
  entries: AccountEntry[]
}

/**
 * The accounts of capped agents and of the home (`HOME_ACCOUNT`): the use of each agent below. An account is a cache of the logs, and nothing in it is
 * durable. The writer of an agent's log writes its entry.
 */
export interface Accounts {
  /** Whether any cap was set in this home. */
  readonly isUsed: boolean
  /** A user can delete the accounts. Then `isUsed` is false although there are caps. */
  readonly isDeletable?: boolean
  /**
   * Durable. Call it before a cap of that agent is recorded. The account is not trusted after that: while no cap was there, requests
   * left no entry.
   */
  open(scope: string): void
  /** The account as it is now, without its right. */
  read(scope: string): Account
  /**
   * Shows `decide` the accounts while no other process can change them, and stores the entries that it returns for each: in place of
   * those of the same agents, and of all entries of an account that was not trusted. Undefined stores nothing there. Throws LOCKED if another
   * process holds an account for too long.
   */
  exchange(
    scopes: string[],
    command: string,
    decide: (accounts: Account[]) => (AccountEntry[] | undefined)[],
  ): Promise<void>
}

export interface ServerUse {
  agentId: string
  usedMs: number
}

/** The things of agents on this host only. They are not part of the home, and no other host can use them. */
export interface LocalFiles {
  readonly keptServers: KeptServerFiles
  /** Files for the programs of one turn. Needs the agent's lease. */
  programFiles(agentId: string): ProgramFiles
  /**
   * The secret with which faces of this home sign an actor (command/actor.ts). It lies with the home, so that a signer could as well
   * change the home. Undefined if there is none, unless `makes`. Not durable: a lost one is made again.
   */
  actorKey(makes: boolean): Buffer | undefined
  /** The path of the log for a child process (SUBSTRAT_LOG). */
  logPath(agentId: string): string
  /** The space that the file system of the agent still has for this user. Undefined for a log in a database, or if the file system does not say it. */
  freeBytes(agentId: string): number | undefined
  /** The socket on which the holder serves substrat's tools to the program of a run. */
  socketPath(agentId: string, runId: string): string
  serveSocket(
    agentId: string,
    runId: string,
    onConnection: (connection: Duplex) => Promise<void>,
  ): Promise<{ close(): void }>
}

/**
 * Kept servers: which agents have one, the time of its last use, its address and its output. The log is the truth, but each agent
 * whose log has a server is listed here. All methods but `uses` and `lock` need the agent's lease.
 */
export interface KeptServerFiles {
  /** Records that a turn uses the server now. */
  touch(agentId: string): void
  /** The least recently used first. */
  uses(): ServerUse[]
  /** Held while a command counts the servers and stops some. */
  lock(command: string, waitMs: number): Promise<Right | undefined>
  /** Call it when the server has exited. */
  forget(agentId: string): void
  /** Not durable: a power cut ends the server too. */
  writeHandle(agentId: string, serverId: string, handle: Uint8Array): void
  /** Undefined if there is no handle, or it belongs to another server. */
  readHandle(agentId: string, serverId: string): Buffer | undefined
  /** An empty output file for a new server. The caller closes its copy. */
  openOutput(agentId: string): OutputFile
  closeOutput(output: OutputFile): void
  /** Whether the server or its children still have the output open. */
  isPrinting(agentId: string): boolean
  /** The end of the output. */
  readOutput(agentId: string): string
  /** Empties a long output. */
  boundOutput(agentId: string): void
}

interface OutputFile {
  path: string
  fd: number
}

/** The texts of agents, for a search. Each call reads in parts, so that a log or blob of any size takes little memory. */
export interface Contents {
  /**
   * Undamaged records of whole batches that may contain the text, in a string or in a blob that they name: each that does, and
   * perhaps others. No record is left out because of how JSON writes its text. The agents come in that order, and their records
   * in the order of their logs. A CORRUPT agent has an error instead of further records.
   */
  recordsWith(agentIds: string[], needle: Needle): AsyncIterable<RecordFound>
  /** The parts of a blob in order. None if it is missing. Not checked against its hash. */
  blobParts(agentId: string, reference: BlobReference): Iterable<Buffer>
}

export type RecordFound =
  | { agentId: string; record: JsonObject; error?: undefined }
  | { agentId: string; record?: undefined; error: SubstratError }

export interface Needle {
  text: string
  ignoresCase: boolean
}

interface RowTrouble {
  agentId: string | null
  detail: string
  path: string
  /** The server has lost changes, or may have. */
  isLoss?: boolean
}

/** The methods that only the audit, `doctor --rebuild` and `unlock` use. Most are for a home in files. */
export interface Upkeep {
  /** Only of a home in a database: where its tables contradict each other. Reads every row. */
  rowTroubles?(): RowTrouble[]
  /** Every name in the home. */
  survey(): Iterable<Entry | Unseen>
  /** Sets the mode that the format requires. */
  tighten(entry: Entry): void
  /** Whether locks are only kernel locks, which cannot outlive their holders. */
  readonly isLocal: boolean
  /** Where the holder of a lock directory lives. `elsewhere`: another machine touches the directory. */
  lifeOf(directory: string): 'here' | 'elsewhere' | 'none'
  holderOf(directory: string): Holder | undefined
  /** Only for a person who knows that the holder is dead. */
  breakLock(directory: string): void
  isStagingAlive(path: string): boolean
  /** Whether the agent is being created. Call it before `hasAgent`, or an agent may be missed. */
  isSpawning(agentId: string): boolean
  blobNames(agentId: string): string[]
  blobPath(agentId: string, blob: string): string
  requestPath(agentId: string, runId: string, verb: RequestVerb): string
  /** The waits that dead processes left. */
  waitsLeft(agentId: string): string[]
  hasServerFiles(agentId: string): boolean
  /** Removes what dead writers left of the agent. Needs the agent. Returns how much. */
  sweep(agentId: string): number
  /** Empties the snapshot, so that the next holder rebuilds it. Needs the agent. */
  clearSnapshot(agentId: string): void
  readSnapshot(agentId: string): Unframed
  /** Gives each damaged file a second name. Durable. Needs the agent. */
  keepDamaged(agentId: string): { log: string | null; snapshot: string | null }
  /** Durable. Needs the agent. */
  writeBlob(agentId: string, content: Buffer): BlobReference
  /** Replaces the log, in the current format. Durable. Needs the agent, and `keepDamaged` first. */
  replaceLog(agentId: string, bytes: Buffer, snapshot: object): void
}
