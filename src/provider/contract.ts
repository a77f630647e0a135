/**
 * What a provider is: the types that plugins import (`substrat/provider`), and nothing that runs.
 *
 * A provider is a module whose default export is a `Provider`, named in its package's package.json:
 * `"substrat": {"providers": {"<name>": "./dist/index.js"}}`. There are two kinds. A *model* provider answers one
 * request; substrat has the conversation. An *agent* provider is an opaque program with a loop and a store of its own.
 *
 * Who may retry: a provider never does. It reports a failure with its type, and substrat decides. A turn may be asked
 * again after a crash, so a model provider must be safe to ask twice; an agent provider is asked again only after
 * `inspect` has said that the turn did not finish.
 */
import type { AgentHost, CallOptions } from './host-contract.js'

export type {
  AgentHost,
  CallOptions,
  KeptServer,
  LaunchCommand,
  LaunchedProgram,
  LaunchedServer,
  McpStdioServer,
  PrivateFile,
} from './host-contract.js'

export type Provider = ModelProvider | AgentProvider

interface ProviderFacts {
  /** One line for `substrat providers`. */
  description: string
  /** Option names of `--option name=value`, with a line of help each; any other is refused at spawn. */
  options: Record<string, string>
  /**
   * Throws a `ProviderFailure` (type `misconfigured` or `authentication`) for settings that cannot work. Called at spawn
   * and before each turn; touches nothing and asks nobody.
   */
  check?(settings: ProviderSettings): void | Promise<void>
  /** Environment variables with secrets of this provider: no tool of its turns is given them. */
  secrets?(settings: ProviderSettings): string[]
}

export interface ProviderSettings {
  /** Absolute path of the directory that the agent works in. */
  workspace: string
  model: string | null
  /** The agent's instructions (system prompt). */
  instructions: string | null
  options: Record<string, string>
}

/**
 * Throw this, or any error that has these fields, for a turn that fails. Anything else counts as `crashed`. Its message is
 * one plain sentence for a person; its stack and its `cause` go into the log, so no secret may be in them.
 *
 * `crashed` is also the type for a program that ended without an end of its turn, whatever it wrote to stderr: where a
 * signal killed it that substrat did not send, or `ended_early` is set, the turn is then interrupted and continued, and not
 * failed. Any other type is taken for an answer.
 */
export interface ProviderFailure extends Error {
  failure: {
    type:
      | 'overloaded'
      | 'rate_limit'
      | 'invalid'
      | 'overflow'
      /** The model, or a filter of its provider, will not answer this. Asking the same again gives the same. */
      | 'refused'
      | 'invalid_response'
      | 'authentication'
      | 'misconfigured'
      | 'unreachable'
      | 'timeout'
      | 'crashed'
      /** The program's own store has lost the conversation: substrat offers to begin it anew from its log. */
      | 'session_lost'
      /** Another process writes the program's session. */
      | 'busy'
    /** When to try again, in milliseconds from now, where the provider said. */
    retry_after_ms?: number
    /** `refused`, of an agent: what its model had said before, for the person. A model yields that as `text` first. */
    said?: string
    /**
     * `crashed`, of an agent: its program had begun the turn, and exited with status 0 before the end of it. A wrapper that
     * hides which signal killed the real program exits so.
     */
    ended_early?: boolean
  }
}

export type JsonObject = { [key: string]: unknown }

export interface Usage {
  input_tokens: number
  output_tokens: number
}

// Model providers

export interface ModelProvider extends ProviderFacts {
  kind: 'model'
  /** False where it cannot summarise: a conversation that is too long then loses its beginning. Default true. */
  summarises?: boolean
  /** The response to one request, in pieces. Ends after exactly one `stop`; ending without one fails the turn. */
  complete(request: ModelRequest, options: CallOptions): AsyncIterable<ModelEvent>
}

export interface ModelRequest extends ProviderSettings {
  /** The latest message from the user; always also the last of `messages()`. */
  prompt: string
  /** The conversation since the last compaction, oldest first. Read from disk when it is called. */
  messages(): ModelMessage[]
  /** Responses of this conversation that a compaction has left out of `messages()`. */
  responses_before: number
  /** 1 for the first time that this request is asked; more after a crash, a failure or a retry. */
  attempt: number
  /** What the model may call; empty where it may call nothing (a summary, for one). */
  tools: ToolDefinition[]
}

/**
 * Every assistant message with tool calls is followed at once by one `tool` message per call, in the order of the calls:
 * substrat never gives a history that lacks one. Messages of the same role may follow one another.
 */
export type ModelMessage =
  | { role: 'user'; content: string }
  | { role: 'assistant'; content: string; tool_calls: ToolCall[] }
  | { role: 'tool'; call_id: string; name: string; content: string; is_error: boolean }

export interface ToolCall {
  /** As the model gave it; unique within its response. */
  call_id: string
  name: string
  input: JsonObject
}

export interface ToolDefinition {
  /** At most 64 of `[a-zA-Z0-9_-]`. */
  name: string
  description: string
  /** JSON Schema of an object. */
  input_schema: JsonObject
}

export type ModelEvent =
  /** A piece of the reply, in order. */
  | { type: 'text'; text: string }
  /**
   * A whole call; its input is parsed. A call whose input is no JSON object is a failure of type `invalid_response`, and so is
   * a response of more than 128 calls: stop reading there.
   */
  | { type: 'tool_call'; call: ToolCall }
  /** Before a failure too, where it is known: a refusal is paid for. */
  | { type: 'usage'; usage: Usage }
  /** `tool_calls` where there was at least one. */
  | { type: 'stop'; reason: 'end' | 'length' | 'tool_calls' }

// Agent providers

export interface AgentProvider extends ProviderFacts {
  kind: 'agent'
  create(settings: ProviderSettings, host: AgentHost): Promise<AgentSession>
  /** `state` is what `suspend` returned, or the latest `state` event of a turn. */
  restore(state: Uint8Array, settings: ProviderSettings, host: AgentHost): Promise<AgentSession>
  /**
   * What the program's own store says of a turn whose substrat died: read only, the program's group is dead already.
   * `finished` needs the reply. `unknown` and `unfinished` make the turn interrupted.
   *
   * A turn in which something failed because its substrat was gone is `unfinished`, also where the program ended it and
   * the model had its last word: a permission that nobody was left to give, a call of substrat's tools that nobody
   * answered. `options.heard` decides that without a look at words: an error of a tool that substrat has not heard of, and
   * a call of substrat's tools that it has not answered, came after its death, or may have.
   *
   * A store that takes long to answer is waited for; a store that cannot be asked rejects. Neither is `unfinished`.
   */
  inspect(state: Uint8Array | null, settings: ProviderSettings, options?: InspectOptions): Promise<Inspection>
}

/** `signal`: aborted where nobody waits for the answer any more. */
export interface InspectOptions extends CallOptions {
  heard: HeardOfTurn
}

/** What is in substrat's log of the turn that is inspected. */
export interface HeardOfTurn {
  /** The calls of the program's own tools that have a `tool_finished`. */
  finished: string[]
  /** How many calls of substrat's tools were answered. */
  answered: number
  /** The name of the tool server that offered those, as in `AgentHost.tools`. */
  server: string
}

export type Inspection = { outcome: 'finished'; reply: string } | { outcome: 'unfinished' | 'unknown' }

export interface AgentSession {
  /** One turn. Ends after exactly one `done`, or one `wait`; ending without either fails the turn. */
  send(prompt: string, options: TurnCallOptions): AsyncIterable<AgentEvent>
  /**
   * The turn that ended in a `wait` goes on with a person's decision, days later and in another process: the session was
   * suspended and restored in between. Needed of a provider that yields `wait`.
   */
  answer?(answer: WaitAnswer, options: TurnCallOptions): AsyncIterable<AgentEvent>
  /** Lets go of everything but a server that is kept, and says what `restore` needs, 512 KiB at most; null where it needs nothing. */
  suspend(): Promise<Uint8Array | null>
  /** Lets go of everything at once; keeps no state. Called on any other end; never throws. */
  stop(): Promise<void>
}

export interface TurnCallOptions extends CallOptions {
  /** Tools that the program may use without being asked about, as substrat's `--allow` names them; `all` is every tool. */
  allow: string[]
}

/** What the program may not do, or cannot know, without a person. */
export interface WaitAsk {
  call_id: string
  /** The tool, as the program names it. */
  tool: string
  input: JsonObject
}

export interface WaitAnswer {
  decision: 'approve' | 'deny' | 'input'
  /** Why it was denied, or the input; empty where nothing was said. */
  text: string
  /** What the `wait` asked. */
  asks: WaitAsk[]
}

export type AgentEvent =
  /** The native session id, or whatever `restore` needs: yield it the moment it is known; it is recorded at once. */
  | { type: 'state'; state: Uint8Array }
  /** A piece of text, for people who watch. Not part of the reply. */
  | { type: 'text'; text: string }
  | { type: 'usage'; usage: Usage }
  /** The program uses a tool of its own: for the log. Its calls of substrat's tools are recorded by substrat. */
  | { type: 'tool_started'; call_id: string; tool: string; input: JsonObject }
  | { type: 'tool_finished'; call_id: string; tool: string; output: string; is_error: boolean }
  /** A sentence for the person: a model that is asked again, a session that had vanished. */
  | { type: 'note'; text: string }
  /** The program asks for a person. The turn was ended in a way that `answer` can go on from; nothing of it runs. */
  | { type: 'wait'; kind: 'approval' | 'input'; asks: WaitAsk[] }
  | { type: 'done'; reply: string }
