/** The context of an operation: the store, the providers, the limits, and the reporter. */
import type { SubstratError } from '../errors.js'
import type { Outbound } from '../outbound/outbound.js'
import type { ProviderRegistry } from '../provider/registry.js'
import type { McpServer } from '../schema/config.js'
import type { SessionRecord } from '../session/records.js'
import type { State } from '../session/state.js'
import type { Store } from '../storage/store.js'
import type { TreeBounds } from '../tree/create-agent.js'
import type { BudgetRules } from '../turn/budget/scopes.js'
import type { TurnProgress } from '../turn/ports.js'
import type { Shutdown } from '../turn/stop.js'
import type { TurnBudget } from './turn-budget.js'

interface Bounds extends TreeBounds {
  /** Concurrent provider calls of all processes. */
  slotsMax: number
  /** How long to wait for a lock or a slot. */
  waitMs: number
  /** The time limit of one turn. */
  turnTimeoutMs: number
  /** The time limit of one tool call. */
  toolTimeoutMs: number
  /** The lifetime of a resume token. */
  tokenLifetimeMs: number
  /** The pause before each retry of a failed request. */
  retryDelaysMs: number[]
  budget: BudgetRules
}

interface ToolRules {
  /** Tools that need no approval, for every agent; `all` is every tool. */
  allow: string[]
  /** Tool servers, by name. */
  servers: Record<string, McpServer>
  /** After a crash during a tool call: stop for a person, or continue and let the model check the outcome. */
  unknownTool: 'stop' | 'continue'
  /** Rules for the calls of single tools, for every agent. */
  onUnknown?: string[]
  /** Whether a server's word that a tool is read-only or idempotent counts as the rule `rerun`. */
  trustsHints?: boolean
  /** Whether a turn continues although its programs ran on another host, once their leash has ended them. */
  takesOver?: boolean
}

/** Servers of agent programs that stay between turns. */
interface KeptServerPolicy {
  /** How many may run in the home; 0 for none. */
  max: number
  /** Whether a turn of this command may leave its server running. */
  keeps: boolean
}

export interface Reporter {
  /** A record that is now durable. `name`: the agent's path; absent for a record of a turn that ended before. */
  record(record: SessionRecord, agentId: string, name?: string): void
  /** Progress of a turn, for a person who watches. It is not durable. */
  progress(progress: TurnProgress, agentId: string): void
  /** A wait for another process begins. The returned function ends it. `text` says what is awaited; called later, if at all. */
  wait(text: () => string): () => void
  /** How much of a long work is done. `what`: `agents visited`. */
  count(what: string, done: number, total: number): void
  /** A piece of a streamed reply. It is not durable and may be lost. */
  text(text: string, agentId: string, runId: string): void
  /** Until the returned function is called, the agent's turns are not the command's own: their records and text are not printed. */
  mute(agentId: string): () => void
  /** The secret of a new resume token. It is reported only once. */
  token(secret: string, agentId: string): void
  /** The failure of a turn is now in the inbox of the operator. */
  reported(runId: string, messageId: string): void
  /** Progress, in a sentence. */
  note(text: string): void
}

/** How much of a long work is done. */
export type OnCount = (done: number, total: number) => void

/** The result of a visit. */
export interface VisitResult {
  turns: number
  /** Whether another process holds the agent and will deliver its mail. */
  isHeld: boolean
  error: SubstratError | undefined
}

/** How a command delivers the mail that it causes. */
export interface DeliveryPolicy {
  /** False with `--no-drain`: no mail is delivered. */
  isOn: boolean
  /** Limit on turns for mail. */
  turnsMax: number
  /** Limit on agents with a turn at one time. */
  activeMax: number
  onVisited: ((agentId: string, visited: VisitResult) => void) | undefined
  /** Whether no turn starts before `untilIdle`. */
  isPaused: boolean
}

/** Runs turns of agents that receive mail because of this command. */
export interface Deliveries {
  /** How many turns for mail may still start. */
  readonly budget: TurnBudget
  /** A context for a part of the command with a different policy. `untilIdle` of the whole also waits for the part. */
  contextUnder(policy: Partial<DeliveryPolicy>, changes?: Partial<Omit<Context, 'deliveries'>>): Context
  /** Call when mail was stored for the agent, or it needs a turn for another reason. */
  wake(agentId: string): void
  /**
   * Call after the agent's lock is released. Applies also with `--no-drain`: a sender that found the agent locked
   * relies on this process to deliver its message. `state`: of the agent when its lock was released.
   */
  lookAgain(agentId: string, state?: State): void
  /** Call if another process has taken the agent, with its messages. `wakeIfPending` then does nothing. */
  markHandled(agentId: string): void
  /** Like `wake` if the agent has work, unless `lookAgain` has already looked. */
  wakeIfPending(agentId: string): void
  /** Whether a turn of the agent runs or is queued in this command. */
  has(agentId: string): boolean
  /** Whether the agent may start a turn for pending mail, or has a pending control. */
  hasWork(agentId: string): boolean
  /** See `TreePorts`. */
  runUntil(agentId: string, isAnswered: () => boolean, signal: AbortSignal): Promise<string | undefined>
  /** Makes `untilIdle` wait for this turn too. */
  join<T>(turn: Promise<T>): Promise<T>
  /** Starts no further turn. */
  stop(): void
  /** Resolves when no turn runs, and notes the agents that still have pending mail. */
  untilIdle(): Promise<void>
}

export interface Context {
  readonly store: Store
  readonly providers: ProviderRegistry
  readonly bounds: Readonly<Bounds>
  readonly tools: Readonly<ToolRules>
  readonly keptServers: Readonly<KeptServerPolicy>
  readonly reporter: Reporter
  readonly shutdown: Shutdown
  readonly deliveries: Deliveries
  readonly outbound: Outbound
  /** The agent whose tool runs this command; null for the operator. */
  readonly caller: string | null
  /** The command as the lock file names it: `substrat send`. */
  readonly command: string
}
