/**
 * The tools of the tree, served to the program of an agent provider by the holder of the agent itself: so that each call
 * is recorded in the caller's log by its one writer. `substrat mcp` is the way there for a program that speaks MCP.
 *
 * The socket is named by the run: whoever calls after its holder died finds nobody behind it, and another run's holder
 * behind another name.
 */
import type { ToolDefinition } from '../../provider/contract.js'
import type { Session } from '../../session/session.js'
import type { FileStore } from '../../storage/store.js'
import type { ToolCaller } from './tool.js'

/** Serves until it is closed. */
export async function serveTools(
  store: FileStore,
  session: Session,
  definitions: ToolDefinition[],
  call: ToolCaller,
): Promise<{ close(): void }> {
  const runId = session.state.run?.run_id ?? ''
  return store.serveSocket(session.id, runId, async (connection) => {
    // Not before somebody calls: most programs never do.
    const { serveMcp: speakMcp } = await import('./mcp-server.js')
    await speakMcp(connection, definitions, call)
  })
}
