/**
 * A Model Context Protocol server: lists the tools, and forwards calls. A server that has only tools needs
 * no other requests. The SDK's server takes longer to load than a whole command, while the program waits for its tools.
 *
 * Invariant: every request gets a response, unless the client cancels it or disconnects.
 */
import type { Duplex } from 'node:stream'
import { isPlainObject } from '../../format.js'
import { limits } from '../../limits.js'
import type { JsonObject, ToolDefinition } from '../../provider/contract.js'
import { isDeeperThan } from '../ask/levels.js'
import { type Message, parseMessage } from './json-rpc.js'
import { linesOf } from './lines.js'
import type { ToolCaller } from './tool.js'

/** Revisions of the protocol. For a server with tools only, they do not differ. */
const REVISIONS = ['2025-11-25', '2025-06-18', '2025-03-26', '2024-11-05', '2024-10-07']
const METHOD_NOT_FOUND = -32601
const INVALID_PARAMS = -32602
const INTERNAL_ERROR = -32603

/** One client of the tools: a connection, or a provider that passes on the messages of its program. */
export class McpServer {
  /** Requests in flight, by their id as JSON. */
  private readonly inFlight = new Map<string, AbortController>()

  constructor(
    private readonly definitions: ToolDefinition[],
    private readonly call: ToolCaller,
  ) {}

  /** Undefined for a notification, and for a request that the client cancelled. Never rejects. */
  async respond(message: Message): Promise<object | undefined> {
    const { id, method, params } = message
    if (method === 'notifications/cancelled')
      this.inFlight.get(JSON.stringify(fieldsOf(params).requestId))?.abort()
    if (id === undefined || method === undefined) return undefined
    const key = JSON.stringify(id)
    const controller = new AbortController()
    this.inFlight.set(key, controller)
    const response = await this.resultOf(message, controller.signal).then(
      (result) => ({ result }),
      ({ code = INTERNAL_ERROR, message }: Partial<RequestError> & Error) => ({ error: { code, message } }),
    )
    this.inFlight.delete(key)
    return controller.signal.aborted ? undefined : { jsonrpc: '2.0', id, ...response }
  }

  abortAll(): void {
    for (const controller of this.inFlight.values()) controller.abort()
  }

  private async resultOf({ method, params }: Message, signal: AbortSignal): Promise<object> {
    switch (method) {
      case 'initialize':
        return {
          protocolVersion: revisionFor(fieldsOf(params).protocolVersion),
          capabilities: { tools: {} },
          serverInfo: { name: 'substrat', version: '1' },
        }
      case 'ping':
        return {}
      case 'tools/list':
        return { tools: this.definitions.map(listedTool) }
      case 'tools/call': {
        const { name, input } = callOf(params)
        const { content, is_error } = await this.call(name, input, signal)
        return { content: [{ type: 'text', text: content }], isError: is_error }
      }
      default:
        throw new RequestError(METHOD_NOT_FOUND, 'Method not found')
    }
  }
}

/** Serves one connection. Resolves when the client disconnects. */
export async function serveMcp(
  connection: Duplex,
  definitions: ToolDefinition[],
  call: ToolCaller,
): Promise<void> {
  const server = new McpServer(definitions, call)
  const closed = new Promise<void>((resolve) => connection.once('close', () => resolve(server.abortAll())))
  await readLines(connection, server).catch(() => connection.destroy())
  await closed
}

async function readLines(connection: Duplex, server: McpServer): Promise<void> {
  for await (const line of linesOf(connection, limits.mcpLineBytesMax)) {
    const heard = parseMessage(line)
    if (heard.kind === 'refused') await write(connection, heard.answer)
    if (heard.kind !== 'message') continue
    void server.respond(heard.message).then((response) => {
      if (response !== undefined) void write(connection, `${JSON.stringify(response)}\n`)
    })
  }
}

/** Resolves once the text is flushed, or the connection is closed. */
function write(connection: Duplex, text: string): Promise<void> {
  return new Promise((resolve) => {
    if (connection.destroyed) return resolve()
    connection.write(text, () => resolve())
  })
}

class RequestError extends Error {
  constructor(
    readonly code: number,
    message: string,
  ) {
    super(message)
  }
}

function revisionFor(requested: unknown): unknown {
  return REVISIONS.find((revision) => revision === requested) ?? REVISIONS[0]
}

function listedTool({ name, description, input_schema }: ToolDefinition): object {
  return { name, description, inputSchema: { ...input_schema, type: 'object' } }
}

function callOf(params: unknown): { name: string; input: JsonObject } {
  const { name, arguments: input = {} } = fieldsOf(params)
  if (typeof name !== 'string')
    throw new RequestError(INVALID_PARAMS, 'The name of the tool is not a string.')
  if (!isPlainObject(input)) throw new RequestError(INVALID_PARAMS, 'The arguments are not an object.')
  if (isDeeperThan(input, limits.inputLevelsMax))
    throw new RequestError(INVALID_PARAMS, 'The arguments have too many levels.')
  return { name, input }
}

function fieldsOf(value: unknown): JsonObject {
  return isPlainObject(value) ? value : {}
}
