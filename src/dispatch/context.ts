/** What an operation is given: the store, the providers, the bounds, and where to tell what happens. */
import type { ProviderRegistry } from '../provider/registry.js'
import type { SessionRecord } from '../session/records.js'
import type { FileStore } from '../storage/store.js'
import type { TreeBounds } from '../tree/birth.js'
import type { Shutdown } from '../turn/stop.js'
import type { McpServer } from '../turn/tools/mcp.js'
import type { Deliveries } from './deliveries.js'

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
interface Warmth {
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

export interface Context {
  store: FileStore
  providers: ProviderRegistry
  bounds: Bounds
  tools: ToolRules
  warm: Warmth
  reporter: Reporter
  shutdown: Shutdown
  /** Who else gets a turn, for the mail that this command causes. */
  deliveries: Deliveries
  /** The agent in whose tool this command runs; null for a person. */
  caller: string | null
  /** What the lock file says of us: `substrat send`. */
  command: string
}
