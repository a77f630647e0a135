/** A Model Context Protocol server over one connection: lists the tools, and forwards calls. */
import type { Duplex } from 'node:stream'
import { Server } from '@modelcontextprotocol/sdk/server/index.js'
import { CallToolRequestSchema, ListToolsRequestSchema } from '@modelcontextprotocol/sdk/types.js'
import { limits } from '../../limits.js'
import type { ToolDefinition } from '../../provider/contract.js'
import { isDeeperThan } from '../ask/levels.js'
import { LineTransport } from './mcp-transport.js'
import type { ToolCaller } from './tool.js'

/** Resolves when the client disconnects. */
export async function serveMcp(
  connection: Duplex,
  definitions: ToolDefinition[],
  call: ToolCaller,
): Promise<void> {
  const server = new Server({ name: 'substrat', version: '1' }, { capabilities: { tools: {} } })
  server.setRequestHandler(ListToolsRequestSchema, () => ({
    tools: definitions.map(({ name, description, input_schema }) => ({
      name,
      description,
      inputSchema: { ...input_schema, type: 'object' as const },
    })),
  }))
  server.setRequestHandler(CallToolRequestSchema, async ({ params }, { signal }) => {
    const input = params.arguments ?? {}
    if (isDeeperThan(input, limits.inputLevelsMax)) throw new Error('the arguments have too many levels')
    const { content, is_error } = await call(params.name, input, signal)
    return { content: [{ type: 'text' as const, text: content }], isError: is_error }
  })
  const closed = new Promise<void>((resolve) => connection.once('close', resolve))
  await server.connect(new LineTransport(connection))
  await closed
  await server.close()
}
