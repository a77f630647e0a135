/**
 * Serves the tree tools to an agent program. The agent's holder serves them, so the one writer of the agent's log records
 * each call. A program that speaks MCP connects through `substrat mcp`.
 *
 * The socket's name contains the run. A program that outlives its holder cannot connect, not even to the holder of a later
 * run, whose socket has another name.
 */
import type { ToolDefinition } from '../../provider/contract.js'
import type { Session } from '../../session/session.js'
import type { Store } from '../../storage/store.js'
import type { ToolCaller } from './tool.js'

export async function serveTools(
  store: Store,
  session: Session,
  definitions: ToolDefinition[],
  call: ToolCaller,
): Promise<{ close(): void }> {
  const runId = session.state.run?.run_id ?? ''
  return store.local.serveSocket(session.id, runId, async (connection) => {
    // Evaluated at the first connection: most programs never connect.
    const { serveMcp } = await import('./mcp-server.js')
    await serveMcp(connection, definitions, call)
  })
}
