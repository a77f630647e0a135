/**
 * The provider contract: types that plugins import from `substrat/provider`. This file has no code that runs.
 *
 * A provider is a module whose default export is a `Provider`, or a `.cjs` file whose `module.exports` is one, which Node loads
 * faster. The plugin's package.json names it: `"substrat": {"providers": {"<name>": "./dist/index.cjs"}}`. A *model* provider answers one request, and substrat stores the
 * conversation. An *agent* provider drives a program that has its own loop and its own store.
 *
 * A provider never retries. It reports a failure with its type, and substrat decides. After a crash, substrat may repeat a
 * request to a model provider, so a repeated request must be safe. It repeats a turn of an agent provider only if `inspect`
 * returned that the turn did not finish.
 */
import type { AgentHost, CallOptions } from './host-contract.js'

export type { ProviderFailure } from './failure-contract.js'
export type {
  AgentHost,
  CallOptions,
  KeptServer,
  LaunchCommand,
  LaunchedProgram,
  LaunchedServer,
  McpStdioServer,
  PrivateFile,
  ToolServer,
} from './host-contract.js'

export type Provider = ModelProvider | AgentProvider

interface ProviderFacts {
  /** One line for `substrat providers`. */
  description: string
  /**
   * The names for `--option name=value`, each with one line of help. `spawn` refuses any other name. The line ends with the default
   * in parentheses, if the option has one: `time limit (5m)`. A default in words may begin with `default: `.
   */
  options: Record<string, string>
  /**
   * Throws a `ProviderFailure` of type `misconfigured` or `authentication` for settings that cannot work. substrat calls it at
   * spawn and before each turn. It must change nothing and use no network.
   */
  check?(settings: ProviderSettings): void | Promise<void>
  /**
   * The program that a turn starts. substrat looks for it before each turn and for `substrat check`, after `check`. If it is not there, the
   * turn does not begin. Optional, and undefined if it is unknown. It must change nothing and use no network.
   */
  program?(settings: ProviderSettings): ProviderProgram | undefined
  /**
   * For `substrat check`, after `check` and `program`: throws a `ProviderFailure` of type `misconfigured` or `authentication` if a turn
   * could not begin now, as far as the provider can see. For example its program has no login. Optional. It must change nothing, spend
   * nothing and ask no service, and must stop soon after `signal`. It may start a program that ends with it.
   */
  ready?(settings: ProviderSettings, options: CallOptions): void | Promise<void>
  /**
   * The models that `--model` accepts, for `substrat models`. Optional. It may use the network, and must stop soon after `signal`.
   * Throws a `ProviderFailure`. The model in `settings` may be null.
   */
  models?(settings: ProviderSettings, options: CallOptions): Promise<ListedModel[]>
  /** The parts of a usage that the provider reports. A budget in dollars is refused unless `usd` is true. Default: unknown. */
  reports?: { tokens?: boolean; usd?: boolean }
  /** Names of environment variables that hold this provider's secrets. Tools in its turns do not receive them. */
  secrets?(settings: ProviderSettings): string[]
}

/**
 * `name`: the name of a program in PATH, or a path. `shell`: a shell command, whose first word is looked for unless the command may work
 * without it. The workspace is the directory of relative paths.
 */
export type ProviderProgram = { name: string } | { shell: string }

export interface ListedModel {
  /** As `--model` accepts it. */
  id: string
  /** One line. */
  description?: string
}

export interface ProviderSettings {
  /** Absolute path of the agent's working directory. */
  workspace: string
  model: string | null
  /** The agent's instructions (system prompt). */
  instructions: string | null
  options: Record<string, string>
}

export type JsonObject = { [key: string]: unknown }

/**
 * Tokens with the meaning of OpenTelemetry's GenAI conventions. A field that the provider does not report is absent. Convert
 * services that count otherwise: Anthropic's `input_tokens`, for example, leave out what its cache read and wrote.
 */
export interface Usage {
  /** All input, cached or not. */
  input_tokens: number
  /** All output, with reasoning. */
  output_tokens: number
  /** Input read from a cache, part of `input_tokens`. */
  cache_read_tokens?: number
  /** Input written to a cache, part of `input_tokens`. */
  cache_write_tokens?: number
  /** Part of `output_tokens`. */
  reasoning_tokens?: number
  /** In US dollars. Only if the service or the program reports it: substrat knows no prices. */
  cost_usd?: number
}

/** The part of a usage that one model has. */
export interface ModelUsage extends Usage {
  model: string
}

// Model providers

export interface ModelProvider extends ProviderFacts {
  kind: 'model'
  /** False if the model cannot summarise: compaction then drops the beginning of a conversation. Default true. */
  summarises?: boolean
  /**
   * The limit of a response with these settings, in tokens. Optional. Under a budget, substrat sets the option `max_tokens`, if the provider
   * has it, so that a response uses no more than it holds.
   */
  responseTokensMax?(settings: ProviderSettings): number | undefined
  /** The smallest limit that a response can have with these settings, such as one larger than its thinking. Optional. */
  responseTokensMin?(settings: ProviderSettings): number | undefined
  /** Streams the response to one request. The stream ends after exactly one `stop`; without it the turn fails. */
  complete(request: ModelRequest, options: CallOptions): AsyncIterable<ModelEvent>
}

export interface ModelRequest extends ProviderSettings {
  /** The latest message from the user. It is also in `messages()`. */
  prompt: string
  /** The conversation since the last compaction, oldest first. Each call reads it from disk. */
  messages(): ModelMessage[]
  /** How many responses of this conversation a compaction has removed from `messages()`. */
  responses_before: number
  /** 1 for the first attempt of this request; higher after a crash, a failure or a retry. */
  attempt: number
  /** The tools that the model may call. Empty if it may call none, as for a summary. */
  tools: ToolDefinition[]
}

/**
 * After every assistant message with tool calls follows one `tool` message per call, in the order of the calls. substrat never
 * omits one. Consecutive messages may have the same role.
 */
export type ModelMessage =
  | { role: 'user'; content: string }
  /** `items`: the `item` events of this response, unchanged and in their order. Absent if it had none. */
  | { role: 'assistant'; content: string; tool_calls: ToolCall[]; items?: JsonObject[] }
  | { role: 'tool'; call_id: string; name: string; content: string; is_error: boolean }

export interface ToolCall {
  /** The id that the model gave. Unique within its response. */
  call_id: string
  name: string
  input: JsonObject
  /** Set if the model's arguments could not be read. `input` is then `{}`, and the call does not run: this error is its result. */
  arguments_error?: ArgumentsError
}

export interface ArgumentsError {
  /** Why, as the end of a sentence: "they are not valid JSON (Unexpected end of input)". */
  message: string
  /** The arguments as the model sent them. substrat keeps the beginning. */
  text: string
}

export interface ToolDefinition {
  /** 1 to 64 characters of `[a-zA-Z0-9_-]`. */
  name: string
  description: string
  /** JSON Schema of an object. */
  input_schema: JsonObject
}

export type ModelEvent =
  /** The next piece of the reply. */
  | { type: 'text'; text: string }
  /**
   * A complete call with parsed input. If its arguments are not a JSON object, yield it with an `arguments_error`: the model gets the
   * error as the call's result. Fail with `invalid_response` if it is not certain which call the model made, or if a response has
   * more than 128 calls.
   */
  | { type: 'tool_call'; call: ToolCall }
  /**
   * Data that the service needs back with this response, such as signed reasoning. It is a JSON object that only the provider
   * reads: substrat stores it, and repeats it in `messages()`. If its place among text and calls matters, the item must say it.
   * It is not part of the reply. Compaction drops it with its message, and `fork` does not copy it.
   */
  | { type: 'item'; item: JsonObject }
  /**
   * The service refused the items of earlier responses, and the provider now asks without them. Later requests leave the items of
   * all responses before this one out.
   */
  | { type: 'items_refused' }
  /**
   * Yield it also before a failure, if it is known: the service charges for a refusal too. A later event replaces it. `model`
   * is the model that answered, as the service names it.
   */
  | { type: 'usage'; usage: Usage; model?: string }
  /**
   * The reason is `tool_calls` if the response has at least one call. `incomplete`: the service ended the response in a way that the
   * provider does not know, and this is the service's word for it. substrat keeps the reply, and marks it as possibly incomplete.
   */
  | { type: 'stop'; reason: 'end' | 'length' | 'tool_calls'; incomplete?: string }

// Agent providers

export interface AgentProvider extends ProviderFacts {
  kind: 'agent'
  /**
   * Whether each prompt begins with the conversation so far, in words. For a program that has no memory of earlier turns. Default:
   * no.
   */
  needsHistory?(settings: ProviderSettings): boolean
  /**
   * Whether a turn is one call, as of a command: the program then gets the identity of the turn in `SUBSTRAT_CALL` and
   * `SUBSTRAT_ATTEMPT`. Default: no.
   */
  isOneCall?: boolean
  create(settings: ProviderSettings, host: AgentHost): Promise<AgentSession>
  /** `state` is the result of `suspend`, or the latest `state` event of a turn. */
  restore(state: Uint8Array, settings: ProviderSettings, host: AgentHost): Promise<AgentSession>
  /**
   * Reads from the program's own store how a turn ended whose substrat process died. It must not write. The program's process
   * group is already dead. `finished` needs the reply. `unknown` and `unfinished` leave the turn interrupted.
   *
   * Return `unfinished` if something in the turn failed because substrat was dead, even if the program then ended the turn
   * itself. Examples: a permission request or a call of substrat's tools without an answer. Decide with `options.heard`, not by
   * error texts: a tool error that substrat has not recorded, or an unanswered call of its tools, may have come after its death.
   *
   * If the store is slow, wait for it. If it cannot be read, reject. Neither case is `unfinished`.
   */
  inspect(state: Uint8Array | null, settings: ProviderSettings, options?: InspectOptions): Promise<Inspection>
}

/** `signal` aborts when the answer is no longer needed. */
export interface InspectOptions extends CallOptions {
  heard: HeardOfTurn
}

/** The data in substrat's log about the inspected turn. */
export interface HeardOfTurn {
  /** The ids of calls of the program's own tools with a `tool_finished`. */
  finished: string[]
  /** How many calls of substrat's tools substrat has answered. */
  answered: number
  /** The name of substrat's tool server, as in `AgentHost.tools`. */
  server: string
}

/** `usage`: of the inspected turn, as in the `usage` event, if the store has it. */
export type Inspection = ({ outcome: 'finished'; reply: string } | { outcome: 'unfinished' | 'unknown' }) & {
  usage?: Usage
  models?: ModelUsage[]
}

export interface AgentSession {
  /** Runs one turn. The stream ends after exactly one `done` or one `wait`; without either the turn fails. */
  send(prompt: string, options: TurnCallOptions): AsyncIterable<AgentEvent>
  /**
   * Continues a turn that ended in `wait`, with the user's decision. That may be days later in another process: the session was
   * suspended and restored in between. Required if the provider yields `wait`.
   */
  answer?(answer: WaitAnswer, options: TurnCallOptions): AsyncIterable<AgentEvent>
  /** Releases everything except a kept server. Returns what `restore` needs (at most 512 KiB), or null if it needs nothing. */
  suspend(): Promise<Uint8Array | null>
  /** Releases everything at once and keeps no state. substrat calls it on any other end. It never throws. */
  stop(): Promise<void>
}

export interface TurnCallOptions extends CallOptions {
  /** Tools that the program may use without approval, as in substrat's `--allow`; `all` means every tool. */
  allow: string[]
}

/** A tool call that needs approval, or a question to the user. */
export interface WaitAsk {
  call_id: string
  /** The program's name for the tool. */
  tool: string
  input: JsonObject
}

export interface WaitAnswer {
  decision: 'approve' | 'deny' | 'input'
  /** The reason for a denial, or the input. Empty if the user gave none. */
  text: string
  /** The `asks` of the `wait` event. */
  asks: WaitAsk[]
}

export type AgentEvent =
  /** The native session id, or other data that `restore` needs. Yield it as soon as it is known: substrat records it at once. */
  | { type: 'state'; state: Uint8Array }
  /** Live text for the user. Not part of the reply. */
  | { type: 'text'; text: string }
  /**
   * The usage since `send` or `answer`. A later event replaces it. Yield it also before any other end of the turn. A program that
   * reports the total of its session needs the total at the beginning of the turn: keep it in the state. `models` are its parts
   * by model; `model` says that one model has all of it.
   */
  | { type: 'usage'; usage: Usage; model?: string; models?: ModelUsage[] }
  /** The program uses one of its own tools; substrat logs it. Do not yield calls of substrat's tools: substrat records them. */
  | { type: 'tool_started'; call_id: string; tool: string; input: JsonObject }
  | { type: 'tool_finished'; call_id: string; tool: string; output: string; is_error: boolean }
  /** A sentence for the user, such as "the request is retried" or "the session was lost". */
  | { type: 'note'; text: string }
  /**
   * The program's output, for the log. Pieces of stderr are also shown to a person who watches, and the log gets their last
   * 64 KiB. Yield stdout, as a whole and before the failure, only if the turn ends without a reply.
   */
  | { type: 'output'; stream: 'stdout' | 'stderr'; text: string }
  /** The program needs the user. Yield it when nothing of the turn runs any longer and `answer` can continue it. */
  | { type: 'wait'; kind: 'approval' | 'input'; asks: WaitAsk[] }
  | { type: 'done'; reply: string }
