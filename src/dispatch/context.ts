/** What an operation is given: the store, the providers, the bounds, and where to tell what happens. */
import type { ProviderRegistry } from '../provider/registry.js'
import type { SessionRecord } from '../session/records.js'
import type { FileStore } from '../storage/store.js'
import type { Shutdown } from '../turn/stop.js'

interface Bounds {
  /** Provider calls at once, across processes. */
  slotsMax: number
  /** How long a lock or a slot is waited for. */
  waitMs: number
  /** The wall clock of one turn. */
  turnTimeoutMs: number
}

export interface Reporter {
  /** A durable record. */
  record(record: SessionRecord, agentId: string): void
  /** A piece of a reply that is on its way, and may yet be lost. */
  text(text: string, agentId: string, runId: string): void
  /** Progress, in a sentence. */
  note(text: string): void
}

export interface Context {
  store: FileStore
  providers: ProviderRegistry
  bounds: Bounds
  reporter: Reporter
  shutdown: Shutdown
  /** What the lock file says of us: `substrat send`. */
  command: string
}
