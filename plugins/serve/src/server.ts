/** The facts about the server that every handler knows. Nothing here outlives the process, and none of it is needed after a restart. */
import type { Commands } from '../../shared/src/face/commands.js'
import type { Core, Store } from './core.js'
import type { Feeds } from './events/feeds.js'
import type { Metrics } from './metrics/metrics.js'

export interface Server {
  core: Core
  /** Absolute path of the home. */
  home: string
  /** Starts the commands that write. */
  commands: Commands
  feeds: Feeds
  metrics: Metrics
  isReadOnly: boolean
  /** Aborted when the server stops: streams end, and clients come back with their cursor. */
  stopping: AbortSignal
}

/** Undefined if there is no home yet. Opened for each request, so that a home that was made or moved meanwhile is seen. */
export function openStore({ core, home }: Server): Store | undefined {
  return core.openHome(home)
}

/** Throws AGENT_NOT_FOUND or AGENT_AMBIGUOUS. */
export function findAgent(server: Server, word: string): { store: Store; agentId: string } {
  const store = openStore(server)
  const agentId = server.core.resolveAgent(store, word)
  return { store: store as Store, agentId }
}
