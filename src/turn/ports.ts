/** The engine's services for a turn: provider, slots, tools, and output to the user. */
import type { JsonObject, Provider, ProviderSettings } from '../provider/contract.js'
import type { McpStdioServer } from '../provider/host-contract.js'
import type { Amounts } from '../schema/budget.js'
import type { RunError, Usage } from '../schema/types.js'
import type { Run, State } from '../session/state.js'
import type { TurnBudget } from './budget/turn-budget.js'
import type { RetryPlan } from './step/turn-event.js'
import type { ServedTools } from './tools/serve.js'
import type { ToolCaller } from './tools/tool.js'
import type { Toolbox } from './tools/toolbox.js'

/** For a person who watches. Neither is durable. */
export type TurnProgress =
  /** A tool starts. Its record has no input if a model called it. */
  | { type: 'call'; call_id: string; tool: string; input: JsonObject }
  /** The usage of the program's turn so far. */
  | { type: 'usage'; usage: Usage }
  /** A piece of the program's stderr. */
  | { type: 'stderr'; text: string }

/** The budgets over the agent. */
interface BudgetPort {
  of: TurnBudget
  /** The hold of one turn of a program, or of a response of unknown length. */
  turn: Amounts
  /** How long a request waits for what running requests hold. */
  waitMs: number
}

export interface TurnPorts {
  provider: Provider
  settings: ProviderSettings
  toolbox: Toolbox
  /** SUBSTRAT_* for the programs of the run. */
  environment(run: Run): Record<string, string>
  /** A slot for one call of the provider. The turn releases it before tools run and during pauses. */
  takeSlot(signal?: AbortSignal): Promise<{ release(): Promise<void> }>
  planRetry(error: RunError, failures: number, retryAfterMs: number | null, waits?: number): RetryPlan
  /** Expiry of a token minted now (ISO 8601). */
  tokenExpiry(): string
  /** Undefined: no cap is over the agent. */
  budget?: BudgetPort | undefined
  /** Receives the secret of a token, once, after the token's record is durable. */
  onToken(secret: string): void
  onText(text: string): void
  onProgress(progress: TurnProgress): void
  note(text: string): void
  /** The MCP server through which the program calls substrat's tools; null: it gets none. */
  programTools(run: Run): McpStdioServer | null
  /** The conversation before this turn, in words; undefined if there is none. */
  history(): string | undefined
  /** Serves the tools of docs/tools.md to an agent program during its turn. */
  serveTools(call: ToolCaller): ServedTools
  /** Whether a server of an agent program may outlive the turn. */
  keepsServers: boolean
  /** Whether the session is suspended when this run ends. Called at that end. */
  isLast(): boolean
  /** Whether the visit then has nothing more to do: no mail to send, no other turn. */
  isOver(state: State): boolean
}
