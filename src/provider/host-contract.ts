/**
 * The services of substrat for an agent provider: programs, private files, its own tools, and servers that outlive a turn. Part
 * of the contract (`substrat/provider`); types only.
 */

export interface CallOptions {
  /** Aborts when the turn is cancelled, times out or is shut down. Then stop, and throw or end the stream. */
  signal: AbortSignal
}

export interface AgentHost {
  /**
   * Starts a program behind the start barrier: it execs only after its process group is on disk, so that recovery can kill
   * orphans of a crash. After that, the program dies with substrat. Rejects if `signal` aborts before the exec. Use it for every
   * program of a turn.
   */
  launch(command: LaunchCommand, options: CallOptions): Promise<LaunchedProgram>
  /**
   * Creates a file that only the user can read, for a program about to be launched. Use it for secrets: every user of the
   * machine can read arguments. The path contains `name`. Remove the file once the program has read it. substrat removes it at
   * the end of the turn; after a crash, the next command for the agent removes it.
   */
  privateFile(name: string, text: string): PrivateFile
  /** The MCP server with substrat's own tools, to offer to the program during the turn. Null if the agent gets none. */
  tools: ToolServer | null
  /**
   * Like `launch`, for a server: after `keep` it outlives the turn and the command. An agent has at most one; an earlier kept
   * server is killed first. Null if this turn must not keep a server: then use `launch`.
   */
  launchServer: ((command: LaunchCommand, options: CallOptions) => Promise<LaunchedServer>) | null
  /** The limit of this turn in US dollars. Undefined without a budget in dollars. Hand it on if the program has such a limit. */
  budgetUsd?: number
  /** The server that an earlier turn of this agent kept, if it still runs. This turn may use it or kill it. */
  server: KeptServer | null
}

export interface PrivateFile {
  path: string
  /** Idempotent. */
  remove(): void
}

export interface ToolServer extends McpStdioServer {
  /**
   * Responds to one MCP message (JSON-RPC) in this process. Use it for a program that passes the messages to its provider: it
   * then starts no server of its own, which takes as long as a command. Undefined for a message without a response. Never
   * rejects.
   */
  respond(message: object): Promise<object | undefined>
}

/** How a program starts an MCP server on stdio. */
export interface McpStdioServer {
  /** The server name. A program may show it as a prefix of tool names. */
  name: string
  command: string
  args: string[]
  env: Record<string, string>
}

export interface LaunchCommand {
  /** The program and its arguments. */
  argv: [string, ...string[]]
  /** Added to substrat's environment and the `SUBSTRAT_*` variables. */
  env?: Record<string, string>
  cwd: string
}

export interface LaunchedProgram {
  stdin: NodeJS.WritableStream
  stdout: NodeJS.ReadableStream
  stderr: NodeJS.ReadableStream
  /**
   * Settles when the program itself has exited. Its children may still hold its output open. If the program's streams have
   * ended, await this before `kill`: a program that is killed before it has exited counts as ended by the provider.
   */
  exited: Promise<{ code: number | null; signal: NodeJS.Signals | null }>
  /**
   * Ends the whole group: SIGTERM, then SIGKILL for processes that live after `graceMs`. Resolves when the group is gone, at the
   * latest 5 s after SIGKILL.
   */
  kill(graceMs: number): Promise<void>
}

/** A server's stdout and stderr go to a file, so the provider need not read them. Its stdin is empty. */
interface Server {
  /** The last 64 KiB of its output since its start. */
  output(): string
  /** Like `LaunchedProgram.kill`. */
  kill(graceMs: number): Promise<void>
}

export interface LaunchedServer extends Server {
  /** Settles when the program itself has exited. It does not keep this process alive: also have a timer or a connection. */
  exited: LaunchedProgram['exited']
  /**
   * Keeps the server after the turn if the turn ends in `done` and `suspend` does not kill it. On any other end substrat kills
   * it. `handle` (at most 64 KiB) is the data that a later turn needs to reach it. It may contain a password: substrat stores it
   * in a file that only the user can read, not in the log.
   */
  keep(handle: Uint8Array): Promise<void>
}

export interface KeptServer extends Server {
  /** The argument of `keep`. */
  handle: Uint8Array
}
