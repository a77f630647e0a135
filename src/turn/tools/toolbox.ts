/** The tools of a turn: the built-in ones and those of tool servers, which start before the first request to the model. */

import { SubstratError } from '../../errors.js'
import { limits } from '../../limits.js'
import type { JsonObject, ToolCall, ToolDefinition } from '../../provider/contract.js'
import { plainSentence } from '../../provider/failure.js'
import type { LaunchCommand, LaunchedProgram } from '../../provider/host-contract.js'
import type { McpServer } from '../../schema/config.js'
import { toolTimedOut } from '../../session/causes.js'
import type { NewRecord } from '../../session/records.js'
import { timeoutSignal } from '../../timeout-signal.js'
import type { Policy } from '../call-policy.js'
import { isAllowed } from '../step/calls.js'
import { askOperator } from './ask-operator.js'
import { awaitExternal } from './await-external.js'
import type { Checked } from './check.js'
import { editFile, readFile, writeFile } from './files.js'
import type { ServerStartError, ToolServer } from './mcp.js'
import { ruleFor } from './on-unknown.js'
import { readSkill } from './read-skill.js'
import { shell } from './shell.js'
import { type CallContext, ProcessEnd, type Tool, type ToolAnswer } from './tool.js'
import {
  complete,
  gate,
  inspectAgent,
  listChildren,
  permitTurn,
  poke,
  subscribe,
  ungate,
  unsubscribe,
} from './tree/children.js'
import { broadcast, checkInbox, sendMessage } from './tree/messages.js'
import { cancelReminder, remindMe, setMetadata } from './tree/self.js'
import { spawnAgent } from './tree/spawn-agent.js'
import type { TreePorts } from './tree-ports.js'

export interface ToolResult {
  /** The result as the model receives it. */
  content: string
  is_error: boolean
  /** The whole output if `content` is only an excerpt. */
  whole: Buffer | null
  /** Whether the tool was stopped before its end: none of its processes may keep running. */
  isStopped?: boolean
  /** Whether that was at its time limit. */
  timed_out?: true
  /** How its process ended, if the error is a `ProcessEnd`. */
  end?: ProcessEnd['end']
  /** See `ToolAnswer`. */
  records?: NewRecord[]
  ends?: string
  isOpen?: boolean
  deferred?: { deadline_ms: number | null }
}

export interface ToolboxOptions {
  workspace: string
  home: string
  /** A tool that runs longer is stopped. */
  timeoutMs: number
  servers: Record<string, McpServer>
  tree: TreePorts
  /** Receives a sentence for the user. */
  note?(text: string): void
  /** The rules for calls whose result a crash lost, the first one first. */
  onUnknown?: readonly string[]
  /** Whether the word of a tool server counts as such a rule. */
  trustsHints?: boolean
  /** For any other such call: a person decides, or the model gets the result "outcome unknown". */
  unknownTool?: 'stop' | 'continue'
}

export interface ServerFailure {
  server: string
  reason: string
  stderr: string
}

const TOOL_NAME = /^[a-zA-Z0-9_-]{1,64}$/

/** The tools that every agent has, with any provider (docs/tools.md). */
const TREE_TOOLS: Tool[] = [
  spawnAgent,
  sendMessage,
  broadcast,
  checkInbox,
  listChildren,
  inspectAgent,
  complete,
  poke,
  remindMe,
  cancelReminder,
  gate,
  ungate,
  permitTurn,
  setMetadata,
  subscribe,
  unsubscribe,
]

const BUILT_IN: Tool[] = [
  shell,
  readFile,
  writeFile,
  editFile,
  readSkill,
  askOperator,
  awaitExternal,
  ...TREE_TOOLS,
]

/** The names of the tools that every model agent has. */
export const TOOL_NAMES: readonly string[] = BUILT_IN.map(({ name }) => name)

export class Toolbox {
  private readonly tools = new Map(BUILT_IN.map((tool) => [tool.name, tool]))
  private running: ToolServer[] | undefined
  /** Why a server did not start, by its name. */
  private readonly failed = new Map<string, string>()

  constructor(private readonly options: ToolboxOptions) {}

  readonly policy: Policy = {
    kindOf: (name) =>
      this.tools.get(name)?.kind ?? (this.serverOf(name) === undefined ? 'unknown' : 'changes'),
    ruleOf: (name, input) =>
      ruleFor(this.options.onUnknown ?? [], name, input) ??
      (this.options.trustsHints === true && this.serverOf(name) !== undefined ? { do: 'hint' } : undefined),
  }

  get unknownTool(): 'stop' | 'continue' {
    return this.options.unknownTool ?? 'stop'
  }

  /** Whether the server of the tool, which has started, says that calling it again has no further effect. */
  isHarmlessAgain(name: string): boolean {
    return this.tools.get(name)?.isHarmlessAgain === true
  }

  /** Runs the command of a rule `check`. */
  async check(
    { name, input }: ToolCall,
    command: string,
    signal: AbortSignal,
    launch: (command: LaunchCommand) => Promise<LaunchedProgram>,
  ): Promise<Checked> {
    const { runCheck } = await import('./check.js')
    const { workspace, timeoutMs } = this.options
    return runCheck(
      { tool: name, input: input as JsonObject },
      { command, workspace, timeoutMs },
      signal,
      launch,
    )
  }

  get definitions(): ToolDefinition[] {
    return [...this.tools.values()].map(definitionOf)
  }

  /** The tools offered to an agent program, which has tools of its own for the rest. */
  get treeDefinitions(): ToolDefinition[] {
    return TREE_TOOLS.map(definitionOf)
  }

  /** Why an agent program may not call the tool; undefined if it may. Its turn cannot wait for an approval. */
  whyNot(name: string, allow: string[]): string | undefined {
    if (!TREE_TOOLS.some((tool) => tool.name === name)) return `There is no tool ${name}.`
    if (this.policy.kindOf(name) === 'reads' || isAllowed(allow, name, this.policy)) return undefined
    return `This agent may not use ${name}. The user can allow it with --allow ${name} or --allow tree, at spawn, set or send.`
  }

  /** Whether to offer an agent program a server of these tools, for which it waits at each of its starts. */
  offers(allow: string[]): boolean {
    return TREE_TOOLS.some(({ name, kind }) => kind === 'own' && isAllowed(allow, name, this.policy))
  }

  /** Whether the tool waits for other agents, so that its turn can release its slot. */
  isWaiting(name: string): boolean {
    return this.tools.get(name)?.waits === true
  }

  get hasServers(): boolean {
    return this.running !== undefined && this.running.length > 0
  }

  /**
   * Starts the tool servers, once. `launch` records each before it runs. If a server fails to start, its tools are missing, and
   * `onFailed` records why.
   */
  async start(
    launch: (server: string, command: LaunchCommand) => Promise<LaunchedProgram>,
    signal: AbortSignal,
    note: (text: string) => void,
    onFailed?: (failure: ServerFailure) => void,
  ): Promise<void> {
    if (this.running !== undefined) return
    this.running = []
    const servers = Object.entries(this.options.servers)
    if (servers.length === 0) return
    const { startToolServer: startServer } = await import('./mcp.js')
    for (const [name, server] of servers) {
      try {
        const { workspace } = this.options
        const started = await startServer(name, server, workspace, signal, (command) => launch(name, command))
        this.running.push(started)
        for (const why of started.leftOut) note(why)
        for (const tool of started.tools) this.take(tool, note)
      } catch (error) {
        const { message, reason = message, stderr = '' } = error as Error & Partial<ServerStartError>
        this.failed.set(name, reason)
        note(message)
        if (!signal.aborted) onFailed?.({ server: name, reason, stderr })
      }
    }
  }

  /** Whether the tool exists. A server's tools exist once the server has started. */
  has(name: string): boolean {
    return this.tools.has(name)
  }

  /** Adds a server's tool. A model's API would refuse every request that lists an invalid name. */
  private take(tool: Tool, note: (text: string) => void): void {
    if (!TOOL_NAME.test(tool.name))
      note(`the tool ${plainSentence(tool.name).slice(0, 100)} is left out: no model accepts such a name`)
    else if (this.tools.has(tool.name)) note(`the tool ${tool.name} is left out: another tool has that name`)
    else this.tools.set(tool.name, tool)
  }

  async stop(): Promise<void> {
    await Promise.all((this.running ?? []).map((server) => server.stop()))
    this.running = []
  }

  /**
   * Runs a call. An error becomes the result, except a storage failure of an `own` tool, which ends the turn. Whether that
   * tool's write is durable is unknown then, so the call runs again with the same ids. ToolRuns handles a failure to record
   * a launched program.
   */
  async run(
    call: ToolCall,
    facts: CallContext,
    signal: AbortSignal,
    launch: (command: LaunchCommand) => Promise<LaunchedProgram>,
  ): Promise<ToolResult> {
    const tool = this.tools.get(call.name)
    if (tool === undefined) return failedResult(this.missing(call.name))
    const timeout = tool.waits === true ? new AbortController().signal : timeoutSignal(this.options.timeoutMs)
    const stop = AbortSignal.any([signal, timeout])
    const { workspace, home, tree } = this.options
    try {
      const isAllowedNow = (name: string): boolean => isAllowed(facts.allow, name, this.policy)
      const context = { workspace, home, signal: stop, launch, call: facts, isAllowed: isAllowedNow, tree }
      const output = await Promise.race([tool.run(call.input as JsonObject, context), whenLate(stop)])
      return answeredResult(output)
    } catch (error) {
      if (tool.kind === 'own' && isStorageFailure(error)) throw error
      if (signal.aborted) return { ...failedResult('Interrupted: the turn was stopped.'), isStopped: true }
      const result = cappedResult(
        Buffer.from(error instanceof Error ? error.message : 'it failed without saying why'),
        true,
      )
      if (!timeout.aborted) return error instanceof ProcessEnd ? { ...result, end: error.end } : result
      this.options.note?.(toolTimedOut(call.name, this.options.timeoutMs))
      return { ...result, content: `${this.timedOut()}\n${result.content}`, isStopped: true, timed_out: true }
    }
  }

  private timedOut(): string {
    return `Timed out: a tool may take ${Math.round(this.options.timeoutMs / 1000)} s.`
  }

  private missing(name: string): string {
    const server = name.slice(0, Math.max(0, name.indexOf('__')))
    const reason = this.failed.get(server)
    const why = reason === undefined ? '' : `: its tool server ${server} did not start (${reason})`
    return `There is no tool ${name} now${why}.`
  }

  private serverOf(name: string): McpServer | undefined {
    const at = name.indexOf('__')
    return at <= 0 || !Object.hasOwn(this.options.servers, name.slice(0, at))
      ? undefined
      : this.options.servers[name.slice(0, at)]
  }
}

function isStorageFailure(error: unknown): boolean {
  return error instanceof SubstratError && ['STORAGE_FAILED', 'SYNC_FAILED'].includes(error.code)
}

/** How long a tool has to end after a stop; a program is killed sooner. */
const STOP_MS_MAX = 3000

function whenLate(stop: AbortSignal): Promise<never> {
  return new Promise((_, reject) => {
    const rejectLate = (): void =>
      void setTimeout(() => reject(new Error('the tool did not stop when asked to')), STOP_MS_MAX).unref()
    if (stop.aborted) rejectLate()
    else stop.addEventListener('abort', rejectLate, { once: true })
  })
}

function definitionOf({ name, description, input_schema }: Tool): ToolDefinition {
  return { name, description, input_schema }
}

function answeredResult(output: string | Buffer | ToolAnswer): ToolResult {
  if (typeof output === 'string') return cappedResult(Buffer.from(output), false)
  if (Buffer.isBuffer(output)) return cappedResult(output, false)
  const { content, is_error = false, ...more } = output
  return { ...cappedResult(Buffer.from(content), is_error), ...more }
}

function failedResult(content: string): ToolResult {
  return { content, is_error: true, whole: null }
}

/** Shortens a long output to its beginning and end: a file's purpose is at its beginning, a build's errors at its end. */
export function cappedResult(output: Buffer, is_error: boolean): ToolResult {
  const max = limits.toolResultBytesMax
  if (output.length <= max) return { content: output.toString('utf8'), is_error, whole: null }
  const head = output.subarray(0, (max * 3) / 4)
  const tail = output.subarray(output.length - max / 4)
  const left = output.length - head.length - tail.length
  return {
    content: `${head.toString('utf8')}\n[… ${left} bytes left out …]\n${tail.toString('utf8')}`,
    is_error,
    whole: output,
  }
}
