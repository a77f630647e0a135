/** What an operation is given: the store, the providers, the bounds, and where to tell what happens. */
import type { SubstratError } from '../errors.js'
import type { ProviderRegistry } from '../provider/registry.js'
import type { SessionRecord } from '../session/records.js'
import type { FileStore } from '../storage/store.js'
import type { TreeBounds } from '../tree/create-agent.js'
import type { Shutdown } from '../turn/stop.js'
import type { McpServer } from '../turn/tools/mcp.js'
import type { TurnBudget } from './turn-budget.js'

interface Bounds extends TreeBounds {
  /** Provider calls at once, across processes. */
  slotsMax: number
  /** How long a lock or a slot is waited for. */
  waitMs: number
  /** The wall clock of one turn. */
  turnTimeoutMs: number
  /** How long one tool may take. */
  toolTimeoutMs: number
  /** How long a resume token is good. */
  tokenLifetimeMs: number
  /** The pause before each retry of a failed request. */
  retryDelaysMs: number[]
}

interface ToolRules {
  /** Tools that may change things without being asked about, for every agent; `all` is every tool. */
  allow: string[]
  /** Tool servers, by name. */
  servers: Record<string, McpServer>
  /** After a tool that was cut short by a crash: stop for a person, or let the model look for itself. */
  unknownTool: 'stop' | 'continue'
}

/** Servers that agents' programs keep between turns. */
interface KeptServerPolicy {
  /** How many of the home may run; 0 for none at all. */
  max: number
  /** Whether turns of this command may leave one. */
  keeps: boolean
}

export interface Reporter {
  /** A durable record. */
  record(record: SessionRecord, agentId: string): void
  /** A piece of a reply that is on its way, and may yet be lost. */
  text(text: string, agentId: string, runId: string): void
  /** The secret of a resume token, once. */
  token(secret: string, agentId: string): void
  /** Progress, in a sentence. */
  note(text: string): void
}

/** What a visit came to. */
export interface VisitResult {
  turns: number
  /** Whether another process has the agent, and looks after it. */
  isHeld: boolean
  error: SubstratError | undefined
}

/** How a command delivers the mail that it causes. */
export interface DeliveryPolicy {
  /** Whether mail is delivered at all (`--no-drain`). */
  isOn: boolean
  /** Turns for mail. */
  turnsMax: number
  onVisited: ((agentId: string, visited: VisitResult) => void) | undefined
  /** Whether nobody is begun with before `untilIdle`. */
  isPaused: boolean
}

/** Who else gets a turn, for the mail that the command causes. */
export interface Deliveries {
  /** Turns for mail that may still be begun. */
  readonly budget: TurnBudget
  /** The context for a part of the command that has a policy of its own. `untilIdle` of this one waits for that too. */
  contextUnder(policy: Partial<DeliveryPolicy>, changes?: Partial<Omit<Context, 'deliveries'>>): Context
  /** Mail was stored for the agent, or something else asks for a turn of it. */
  wake(agentId: string): void
  /**
   * Called when its lock is released after a turn; also with `--no-drain`: a sender that found it locked has left its
   * message to us.
   */
  lookAgain(agentId: string): void
  /** Whether its turn comes, or runs, here. */
  has(agentId: string): boolean
  /** Whether a turn could be begun there for what waits, or something is asked of it that needs none. */
  hasWork(agentId: string): boolean
  /** See `TreePorts`. */
  runUntil(agentId: string, isAnswered: () => boolean, signal: AbortSignal): Promise<string | undefined>
  /** A turn that somebody here waits for is to be finished too before the command ends. */
  join<T>(turn: Promise<T>): Promise<T>
  /** Begins nothing more. */
  stop(): void
  /** Settles when nothing is under way any more; says what was left. */
  untilIdle(): Promise<void>
}

export interface Context {
  readonly store: FileStore
  readonly providers: ProviderRegistry
  readonly bounds: Readonly<Bounds>
  readonly tools: Readonly<ToolRules>
  readonly keptServers: Readonly<KeptServerPolicy>
  readonly reporter: Reporter
  readonly shutdown: Shutdown
  readonly deliveries: Deliveries
  /** The agent in whose tool this command runs; null for a person. */
  readonly caller: string | null
  /** What the lock file says of us: `substrat send`. */
  readonly command: string
}
