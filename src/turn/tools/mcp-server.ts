/** The Model Context Protocol over one connection: what is there to call, and the calls. */
import type { Duplex } from 'node:stream'
import { Server } from '@modelcontextprotocol/sdk/server/index.js'
import { StdioServerTransport } from '@modelcontextprotocol/sdk/server/stdio.js'
import { CallToolRequestSchema, ListToolsRequestSchema } from '@modelcontextprotocol/sdk/types.js'
import type { ToolDefinition } from '../../provider/contract.js'
import type { ToolCaller } from './serve.js'

/** Settles when the other side is gone. */
export async function speakMcp(
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
  server.setRequestHandler(CallToolRequestSchema, async ({ params }) => {
    const { content, is_error } = await call(params.name, params.arguments ?? {})
    return { content: [{ type: 'text' as const, text: content }], isError: is_error }
  })
  const closed = new Promise<void>((resolve) => connection.once('close', resolve))
  await server.connect(new StdioServerTransport(connection, connection))
  await closed
  await server.close()
}
