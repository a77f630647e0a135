/**
 * A Model Context Protocol server over one connection: lists the tools, and forwards calls. A server that has only tools needs
 * no other requests. The SDK's server takes longer to load than a whole command, while the program waits for its tools.
 *
 * Invariant: every request gets a response, unless the client cancels it or disconnects.
 */
import type { Duplex } from 'node:stream'
import { isPlainObject } from '../../format.js'
import { limits } from '../../limits.js'
import type { JsonObject, ToolDefinition } from '../../provider/contract.js'
import { isDeeperThan } from '../ask/levels.js'
import { errorLine, type Message, parseMessage } from './json-rpc.js'
import { linesOf } from './lines.js'
import type { ToolCaller } from './tool.js'

/** Revisions of the protocol. For a server with tools only, they do not differ. */
const REVISIONS = ['2025-11-25', '2025-06-18', '2025-03-26', '2024-11-05', '2024-10-07']
const METHOD_NOT_FOUND = -32601
const INVALID_PARAMS = -32602
const INTERNAL_ERROR = -32603

/** Resolves when the client disconnects. */
export async function serveMcp(
  connection: Duplex,
  definitions: ToolDefinition[],
  call: ToolCaller,
): Promise<void> {
  const server = new Server(connection, definitions, call)
  const closed = new Promise<void>((resolve) => connection.once('close', () => resolve(server.abortAll())))
  await server.read().catch(() => connection.destroy())
  await closed
}

class Server {
  /** Requests in flight, by their id as JSON. */
  private readonly inFlight = new Map<string, AbortController>()

  constructor(
    private readonly connection: Duplex,
    private readonly definitions: ToolDefinition[],
    private readonly call: ToolCaller,
  ) {}

  async read(): Promise<void> {
    for await (const line of linesOf(this.connection, limits.mcpLineBytesMax)) {
      const heard = parseMessage(line)
      if (heard.kind === 'refused') await this.write(heard.answer)
      if (heard.kind !== 'message') continue
      if (heard.id !== undefined) void this.respond(heard.id, heard.message)
      else if (heard.message.method === 'notifications/cancelled') this.abort(heard.message)
    }
  }

  abortAll(): void {
    for (const controller of this.inFlight.values()) controller.abort()
  }

  private abort({ params }: Message): void {
    this.inFlight.get(JSON.stringify(fieldsOf(params).requestId))?.abort()
  }

  private async respond(id: string, message: Message): Promise<void> {
    const controller = new AbortController()
    this.inFlight.set(id, controller)
    let response: string
    try {
      const result = await this.resultOf(message, controller.signal)
      response = `{"jsonrpc":"2.0","id":${id},"result":${JSON.stringify(result)}}\n`
    } catch (error) {
      const { code = INTERNAL_ERROR, message } = error as Partial<RequestError> & Error
      response = errorLine(id, code, message)
    }
    this.inFlight.delete(id)
    if (!controller.signal.aborted) await this.write(response)
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

  /** Resolves once the text is flushed, or the connection is closed. */
  private write(text: string): Promise<void> {
    const { connection } = this
    return new Promise((resolve) => {
      if (connection.destroyed) return resolve()
      connection.write(text, () => resolve())
    })
  }
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
