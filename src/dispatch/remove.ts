/**
 * `remove`: a terminated agent taken away with its log, alone or with all below it, the lowest first.
 *
 * What is on disk if we die: some are gone, each with all that was below it; one may lie aside until `recover --all`
 * sweeps it. The next call takes the rest.
 */
import { forgetName } from '../tree/children.js'
import { lowestFirst, readForest } from '../tree/forest.js'
import { checkReach } from './caller.js'
import type { Context } from './context.js'
import { readState } from './look.js'
import { kept, settleTerminated, takeAway, whyKept, whyKeptFor } from './removable.js'
import { type AgentView, viewAgent } from './view.js'

/** Calls back with each agent once it is gone. Where one of them has to stay, nothing is taken away. */
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
    await settleTerminated(ctx, state)
    const keep =
      whyKept(store, readState(store, state.id)) ?? whyKeptFor(forest, state.id, (id) => ids.includes(id))
    if (keep !== undefined) throw kept(state, keep)
  }
  for (const state of states) {
    const view = viewAgent(store, state)
    await takeAway(ctx, state)
    onRemoved(view)
    await forgetName(store, state, ctx.command)
  }
}
