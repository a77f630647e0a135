/** What the engine lends to a turn: its provider, slots, tools, and the ways to tell a person. */
import type { Provider, ProviderSettings } from '../provider/contract.js'
import type { McpStdioServer } from '../provider/host-contract.js'
import type { RunError } from '../session/fields.js'
import type { Run } from '../session/state.js'
import type { RetryPlan } from './step/turn-event.js'
import type { ToolCaller } from './tools/tool.js'
import type { Toolbox } from './tools/toolbox.js'

export interface TurnPorts {
  provider: Provider
  settings: ProviderSettings
  toolbox: Toolbox
  /** SUBSTRAT_* for the programs of the run. */
  environment(run: Run): Record<string, string>
  /** A slot for one call of the provider: given back before tools run and while nothing is asked. */
  takeSlot(signal?: AbortSignal): Promise<{ release(): Promise<void> }>
  planRetry(error: RunError, failures: number, retryAfterMs: number | null): RetryPlan
  /** ISO 8601: when a token that is minted now expires. */
  tokenExpiry(): string
  /** The secret of a token, once, after it is on disk. */
  onToken(secret: string): void
  onText(text: string): void
  note(text: string): void
  /** How the program reaches them. */
  programTools(run: Run): McpStdioServer | null
  /** Serves the tools of docs/tools.md to the program of an agent provider, for the length of its turn. */
  serveTools(call: ToolCaller): Promise<{ close(): void }>
  /** Whether a server of an agent's program may outlive the turn. */
  keepsServers: boolean
  /** Whether the session comes to rest with the end of this run: asked when the run ends. */
  isLast(): boolean
}
