/**
 * `remove`: deletes a terminated agent with its log, alone or with all agents below it, the lowest first.
 *
 * On disk after a crash: some agents are deleted, each with all agents below it. One may be renamed but not deleted;
 * `recover --all` deletes it. The next call removes the rest.
 */

import { checkReach } from '../dispatch/caller.js'
import type { Context } from '../dispatch/context.js'
import { readState } from '../dispatch/read-state.js'
import { viewAgent } from '../dispatch/view.js'
import type { AgentView } from '../schema/output.js'
import type { State } from '../session/state.js'
import { lowestFirst, readForest } from '../tree/forest.js'
import {
  childObstacle,
  flushTerminated,
  isGone,
  keptError,
  type RemovalObstacle,
  removalObstacle,
  removeAgent,
} from './removable.js'

/** Calls back with each agent once it is deleted. If one of them cannot be removed, none is. */
export async function remove(
  ctx: Context,
  agentId: string,
  isRecursive: boolean,
  onRemoved: (agent: AgentView) => void,
): Promise<void> {
  const { store } = ctx
  checkReach(store, ctx.caller, agentId, 'remove')
  const forest = readForest(store)
  const ids = isRecursive ? lowestFirst(forest, agentId) : [agentId]
  const states = ids.map((id) => forest.agents.get(id) ?? readState(store, id))
  for (const state of states) {
    const keep = (await whyKeptNow(ctx, state)) ?? childObstacle(forest, state.id, (id) => ids.includes(id))
    if (keep !== undefined) throw keptError(state, keep)
  }
  for (const state of states) {
    const view = viewAgent(store, state)
    try {
      await removeAgent(ctx, state)
    } catch (error) {
      if (!isGone(error)) throw error
    }
    onRemoved(view)
  }
}

async function whyKeptNow(ctx: Context, state: State): Promise<RemovalObstacle | undefined> {
  try {
    await flushTerminated(ctx, state)
    return removalObstacle(ctx.store, readState(ctx.store, state.id))
  } catch (error) {
    if (isGone(error)) return undefined
    throw error
  }
}
