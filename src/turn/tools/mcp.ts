/**
 * The tool servers (Model Context Protocol) of the settings: programs that run during a turn. Each starts behind the start
 * barrier, in a recorded process group, so no server outlives a crash. Their tools are named `server__tool`.
 */
import type { Client } from '@modelcontextprotocol/sdk/client/index.js'
import type { JsonObject } from '../../provider/contract.js'
import { describeFailure } from '../../provider/failure.js'
import type { LaunchCommand, LaunchedProgram } from '../../provider/host-contract.js'
import type { McpServer } from '../../schema/config.js'
import { ANY_RESULT, type ListedTool, listTools } from './mcp-list.js'
import { resultText } from './mcp-result.js'
import { McpTransport, TOO_LARGE } from './mcp-transport.js'
import { type CallIdentity, optionalSeconds, ProcessEnd, type Tool, type ToolAnswer } from './tool.js'

export interface ToolServer {
  tools: Tool[]
  /** A sentence for each tool that is left out. */
  leftOut: string[]
  stop(): Promise<void>
}

/** A server did not start. */
export class ServerStartError extends Error {
  constructor(
    server: string,
    readonly reason: string,
    /** The end of what it wrote to stderr. */
    readonly stderr: string,
  ) {
    super(`the tool server ${server} does not start: ${reason}`)
  }
}

const START_MS_MAX = 30_000
const STOP_GRACE_MS = 500

/** Throws a ServerStartError if it does not start. */
export async function startToolServer(
  name: string,
  server: McpServer,
  workspace: string,
  signal: AbortSignal,
  launch: (command: LaunchCommand) => Promise<LaunchedProgram>,
): Promise<ToolServer> {
  const program = await launch({ argv: [server.command, ...server.args], cwd: workspace, env: server.env })
  const transport = new McpTransport(program)
  const kill = (): void => void program.kill(0)
  signal.addEventListener('abort', kill, { once: true })
  try {
    signal.throwIfAborted()
    const { Client } = await import('@modelcontextprotocol/sdk/client/index.js')
    const client = new Client({ name: 'substrat', version: '1' })
    await client.connect(transport, { timeout: START_MS_MAX })
    const { tools, leftOut } = await listTools(client, START_MS_MAX)
    return {
      tools: tools.map((tool) => serverTool(client, transport, server.command, name, tool)),
      leftOut: leftOut.map((why) => `${why} (tool server ${name})`),
      stop: () => program.kill(STOP_GRACE_MS),
    }
  } catch (error) {
    const reason = transport.endedBecause(server.command) ?? describeFailure(plainError(error)).message
    await program.kill(0)
    throw new ServerStartError(name, transport.withStderr(reason), transport.lastWords)
  } finally {
    signal.removeEventListener('abort', kill)
  }
}

function serverTool(
  client: Client,
  transport: McpTransport,
  command: string,
  server: string,
  { name: tool, description, input_schema, isHarmlessAgain = false }: ListedTool,
): Tool {
  return {
    name: `${server}__${tool}`,
    description,
    input_schema,
    // A server may claim that its tool is read-only, but it is not trusted.
    kind: 'changes',
    isHarmlessAgain,
    async run(input, { signal, call: { identity } }) {
      // A call that was never sent has no unknown outcome.
      await transport.endKnown
      const before = transport.endedBecause(command)
      if (before !== undefined)
        throw new ProcessEnd(`the tool server ${server} has ended: ${transport.withStderr(before)}`, 'failed')
      const result = await callTool(client, tool, input, identity, signal).catch((error) => {
        const why = transport.endedBecause(command)
        if (why === undefined) throw plainError(error)
        const message = `the tool server ${server} ended before it answered; how far it got is unknown: ${transport.withStderr(why)}`
        throw new ProcessEnd(message, 'killed')
      })
      const text = resultText(result)
      if (result.isError === true) throw new Error(text === '' ? 'The tool failed without saying why.' : text)
      return { content: text, ...deferralOf(result._meta) }
    },
  }
}

/** The SDK's own `callTool` discards a result that does not match the schema which its server gave for it. */
async function callTool(
  client: Client,
  name: string,
  input: JsonObject,
  identity: CallIdentity | undefined,
  signal: AbortSignal,
): Promise<JsonObject> {
  const meta = identity === undefined ? {} : { _meta: metaOf(identity) }
  const request = { method: 'tools/call' as const, params: { name, arguments: input, ...meta } }
  return client.request(request, ANY_RESULT, { signal, timeout: 2 ** 31 - 1 })
}

/** The identity of a call, as `SUBSTRAT_CALL`, `SUBSTRAT_ATTEMPT` and `SUBSTRAT_MESSAGE_KEY` have it for a command. */
const CALL = 'substrat/call'
const ATTEMPT = 'substrat/attempt'
const MESSAGE_KEY = 'substrat/message_key'

function metaOf({ id, attempt, message_key }: CallIdentity): JsonObject {
  const key = message_key === null ? {} : { [MESSAGE_KEY]: message_key }
  return { [CALL]: id, [ATTEMPT]: attempt, ...key }
}

/** Without the SDK's prefix if the error is ours. */
function plainError(error: unknown): unknown {
  const { code, message } = Object(error) as { code?: unknown; message?: string }
  return code === TOO_LARGE && message !== undefined ? new Error(message.replace(PREFIX, '')) : error
}

const PREFIX = /^MCP error -?\d+: /

/**
 * A tool says in `_meta` that its result will come from elsewhere: `true`, or `{ "deadline_seconds": N }`. A task of MCP would not
 * do: its client polls a server that stays, but a tool server ends with the turn.
 */
const AWAIT_EXTERNAL = 'substrat/await_external'

function deferralOf(meta: unknown): Pick<ToolAnswer, 'deferred'> {
  const awaits = (Object(meta) as JsonObject)[AWAIT_EXTERNAL]
  if (awaits === true) return { deferred: { deadline_ms: null } }
  if (typeof awaits !== 'object' || awaits === null) return {}
  return { deferred: { deadline_ms: optionalSeconds(awaits as JsonObject, 'deadline_seconds') } }
}
