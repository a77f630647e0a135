/**
 * Serves the tree tools to an agent program. The agent's holder serves them, so the one writer of the agent's log records
 * each call. A program that speaks MCP connects through `substrat mcp`,
 * or its provider passes on the messages.
 *
 * The socket's name contains the run. A program that outlives its holder cannot connect, not even to the holder of a later
 * run, whose socket has another name.
 */
import type { ToolDefinition } from '../../provider/contract.js'
import type { Session } from '../../session/session.js'
import type { Store } from '../../storage/store.js'
import type { McpServer } from './mcp-server.js'
import type { ToolCaller } from './tool.js'

/** The tools of one turn. */
export interface ServedTools {
  /** For a provider that passes on its program's messages; see `ToolServer`. */
  respond(message: object): Promise<object | undefined>
  /** Listens on the socket. Rejects on a file system without sockets. */
  listen(): Promise<void>
  close(): void
}

export function serveTools(
  store: Store,
  session: Session,
  definitions: ToolDefinition[],
  call: ToolCaller,
): ServedTools {
  const runId = session.state.run?.run_id ?? ''
  let socket: { close(): void } | undefined
  let direct: McpServer | undefined
  // Evaluated at the first message: most programs never connect.
  const load = (): Promise<typeof import('./mcp-server.js')> => import('./mcp-server.js')
  return {
    async respond(message) {
      const { McpServer } = await load()
      direct ??= new McpServer(definitions, call)
      return direct.respond(message)
    },
    async listen() {
      socket = await store.local.serveSocket(session.id, runId, async (connection) => {
        const { serveMcp } = await load()
        await serveMcp(connection, definitions, call)
      })
    },
    close() {
      direct?.abortAll()
      socket?.close()
    },
  }
}
