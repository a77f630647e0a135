/**
 * The tool servers (Model Context Protocol) of the settings: programs that run during a turn. Each starts behind the start
 * barrier, in a recorded process group, so no server outlives a crash. Their tools are named `server__tool`.
 */
import type { Client } from '@modelcontextprotocol/sdk/client/index.js'
import type { Transport } from '@modelcontextprotocol/sdk/shared/transport.js'
import type { JSONRPCMessage } from '@modelcontextprotocol/sdk/types.js'
import { limits } from '../../limits.js'
import type { JsonObject } from '../../provider/contract.js'
import { describeFailure } from '../../provider/failure.js'
import type { LaunchCommand, LaunchedProgram } from '../../provider/host-contract.js'
import type { McpServer } from '../../schema/config.js'
import { optionalSeconds, ProcessEnd, type Tool, type ToolAnswer } from './tool.js'

export interface ToolServer {
  tools: Tool[]
  stop(): Promise<void>
}

const START_MS_MAX = 30_000
const STOP_GRACE_MS = 500
const PAGES_MAX = 100

/** Throws an Error that names the server if it does not start. */
export async function startToolServer(
  name: string,
  server: McpServer,
  workspace: string,
  signal: AbortSignal,
  launch: (command: LaunchCommand) => Promise<LaunchedProgram>,
): Promise<ToolServer> {
  const program = await launch({ argv: [server.command, ...server.args], cwd: workspace, env: server.env })
  const process = { hasEnded: false }
  void program.exited.then(() => {
    process.hasEnded = true
  })
  const kill = (): void => void program.kill(0)
  signal.addEventListener('abort', kill, { once: true })
  try {
    signal.throwIfAborted()
    const { Client } = await import('@modelcontextprotocol/sdk/client/index.js')
    const client = new Client({ name: 'substrat', version: '1' })
    await client.connect(transportOver(program), { timeout: START_MS_MAX })
    const listed = await listTools(client)
    return {
      tools: listed.map(({ name: tool, description, inputSchema }) =>
        serverTool(client, process, name, tool, description ?? '', inputSchema as JsonObject),
      ),
      stop: () => program.kill(STOP_GRACE_MS),
    }
  } catch (error) {
    await program.kill(0)
    // The message may be the server's own text: describeFailure removes control characters and bounds its length.
    throw new Error(`the tool server ${name} does not start: ${describeFailure(error).message}`)
  } finally {
    signal.removeEventListener('abort', kill)
  }
}

/** Reads all pages of the server's list. */
async function listTools(client: Client): Promise<Awaited<ReturnType<Client['listTools']>>['tools']> {
  const first = await client.listTools(undefined, { timeout: START_MS_MAX })
  const { tools } = first
  let cursor = first.nextCursor
  for (let pages = 1; cursor !== undefined; pages += 1) {
    if (pages === PAGES_MAX) throw new Error('its list of tools has no end')
    const page = await client.listTools({ cursor }, { timeout: START_MS_MAX })
    tools.push(...page.tools)
    cursor = page.nextCursor
  }
  if (Buffer.byteLength(JSON.stringify(tools)) > limits.serverToolsBytesMax)
    throw new Error(`its list of tools is larger than ${limits.serverToolsBytesMax} bytes`)
  return tools
}

function serverTool(
  client: Client,
  process: { readonly hasEnded: boolean },
  server: string,
  tool: string,
  description: string,
  schema: JsonObject,
): Tool {
  return {
    name: `${server}__${tool}`,
    description,
    input_schema: schema,
    // A server may claim that its tool is read-only, but it is not trusted.
    kind: 'changes',
    async run(input, { signal }) {
      if (process.hasEnded) throw new ProcessEnd(`the tool server ${server} has ended`, 'failed')
      const options = { signal, timeout: 2 ** 31 - 1 }
      const call = client.callTool({ name: tool, arguments: input }, undefined, options)
      const result = await call.catch((error) => {
        if (!process.hasEnded) throw error
        const message = `the tool server ${server} ended before it answered; how far it got is unknown`
        throw new ProcessEnd(message, 'killed')
      })
      const text = textOf(result.content)
      if (result.isError === true) throw new Error(text)
      return { content: text, ...deferralOf(result._meta) }
    },
  }
}

/**
 * A tool says in `_meta` that its result will come from elsewhere: `true`, or `{ "deadline_seconds": N }`. A task of MCP would not
 * do: its client polls a server that stays, but a tool server ends with the turn.
 */
const AWAIT_EXTERNAL = 'substrat/await_external'

function deferralOf(meta: { [key: string]: unknown } | undefined): Pick<ToolAnswer, 'deferred'> {
  const awaits = meta?.[AWAIT_EXTERNAL]
  if (awaits === true) return { deferred: { deadline_ms: null } }
  if (typeof awaits !== 'object' || awaits === null) return {}
  return { deferred: { deadline_ms: optionalSeconds(awaits as JsonObject, 'deadline_seconds') } }
}

function textOf(content: unknown): string {
  const parts = Array.isArray(content)
    ? (content as { type: string; text?: string; mimeType?: string; resource?: { text?: string } }[])
    : []
  return parts
    .map(
      (part) =>
        part.text ??
        part.resource?.text ??
        `[${part.type}${part.mimeType === undefined ? '' : ` ${part.mimeType}`}]`,
    )
    .join('\n')
}

/** JSON-RPC, a message per LF-ended line. */
function transportOver(program: LaunchedProgram): Transport {
  let held = Buffer.alloc(0)
  const transport: Transport = {
    async start() {
      program.stderr.resume()
      program.stdout.on('data', (piece: Buffer) => {
        held = Buffer.concat([held, piece])
        for (let lf = held.indexOf(0x0a); lf !== -1; lf = held.indexOf(0x0a)) {
          receive(transport, held.subarray(0, lf))
          held = held.subarray(lf + 1)
        }
        // A line without an end would fill the memory.
        if (held.length > limits.toolOutputBytesMax) void program.kill(0)
      })
      void program.exited.then(() => transport.onclose?.())
    },
    async send(message) {
      program.stdin.write(`${JSON.stringify(message)}\n`)
    },
    async close() {
      await program.kill(STOP_GRACE_MS)
    },
  }
  return transport
}

function receive(transport: Transport, line: Buffer): void {
  try {
    transport.onmessage?.(JSON.parse(line.toString('utf8')) as JSONRPCMessage)
  } catch (error) {
    transport.onerror?.(error as Error)
  }
}
