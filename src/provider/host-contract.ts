/**
 * What substrat offers an agent provider: programs, private files, its own tools, and servers that outlive a turn. Part of the
 * contract (`substrat/provider`): types alone.
 */

export interface CallOptions {
  /** Aborted when the turn is cancelled, timed out or shut down: stop, and throw or end. */
  signal: AbortSignal
}

/** What substrat does for an agent provider. */
export interface AgentHost {
  /**
   * Starts a program behind a barrier: it execs only once its process group is on disk, so that recovery can find and kill
   * what a crash leaves. From then on it dies with substrat. Rejects when `signal` is aborted before that. Use this for every program of a turn.
   */
  launch(command: LaunchCommand, options: CallOptions): Promise<LaunchedProgram>
  /**
   * A file that only the user reads, for a program that is about to be launched: what its arguments must not have, which
   * every user of the machine can read. The path has `name` in it. Remove it once the program has read it. It is gone when
   * the turn is over; what a crash leaves the next command that meets the agent removes.
   */
  privateFile(name: string, text: string): PrivateFile
  /**
   * The tool server (MCP, stdio) to offer the program: substrat's own tools, for as long as the turn lasts. Null where the
   * agent is to have none.
   */
  tools: McpStdioServer | null
  /**
   * Like `launch`, for a program that serves: it outlives the turn, and the command, once it is kept; see `keep`. One for
   * an agent: what was kept before is killed first. Null where nothing may be kept: then use `launch`.
   */
  launchServer: ((command: LaunchCommand, options: CallOptions) => Promise<LaunchedServer>) | null
  /** What an earlier turn of this agent has kept, where it still runs: for this turn to use, or to kill. */
  server: KeptServer | null
}

export interface PrivateFile {
  path: string
  /** May be called more than once. */
  remove(): void
}

/** How a program starts an MCP server that speaks over its stdin and stdout. */
export interface McpStdioServer {
  /** The name that the program may show before the tools' names. */
  name: string
  command: string
  args: string[]
  env: Record<string, string>
}

export interface LaunchCommand {
  /** The program and its arguments. */
  argv: [string, ...string[]]
  /** Added to the environment of substrat and of `SUBSTRAT_*`. */
  env?: Record<string, string>
  cwd: string
}

export interface LaunchedProgram {
  stdin: NodeJS.WritableStream
  stdout: NodeJS.ReadableStream
  stderr: NodeJS.ReadableStream
  /**
   * Settles when the program itself has exited; what it started may still hold its output open. Await it before `kill`
   * where the program's streams have ended: what was killed before it had exited counts as ended by the provider.
   */
  exited: Promise<{ code: number | null; signal: NodeJS.Signals | null }>
  /** Ends the whole group: SIGTERM, and SIGKILL for what is left after `graceMs`. Resolves when it is gone, or 5 s later. */
  kill(graceMs: number): Promise<void>
}

/** Its stdout and stderr go to a file: nobody need read them. Its stdin is empty. */
interface Server {
  /** The end of what it has printed since it was started, 64 KiB at most. */
  output(): string
  /** As of a launched program. */
  kill(graceMs: number): Promise<void>
}

export interface LaunchedServer extends Server {
  /** Settles when the program itself has exited. Keeps nothing waiting: have a timer or a connection beside it. */
  exited: LaunchedProgram['exited']
  /**
   * From now on the server stays where the turn ends in `done` and `suspend` has not killed it; it is killed on any other
   * end. `handle` is what a later turn needs to reach it, 64 KiB at most. It may hold a password: it is in a file that
   * only the user reads, and not in the log.
   */
  keep(handle: Uint8Array): Promise<void>
}

export interface KeptServer extends Server {
  /** What `keep` was given. */
  handle: Uint8Array
}
