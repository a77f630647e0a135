/** The tools of an agent, by the settings; and for those of the tree, what only dispatch can do. */
import type { Session } from '../session/session.js'
import { Toolbox } from '../turn/tools/toolbox.js'
import type { Context } from './context.js'
import { runUntil } from './in-place.js'

export function toolboxOf(ctx: Context, session: Session): Toolbox {
  return new Toolbox({
    workspace: session.state.workspace,
    home: ctx.store.root,
    timeoutMs: ctx.bounds.toolTimeoutMs,
    servers: ctx.tools.servers,
    tree: {
      session,
      bounds: ctx.bounds,
      command: ctx.command,
      wake: (agentId) => ctx.deliveries.wake(agentId),
      runUntil: (agentId, isAnswered, signal) => runUntil(ctx, agentId, isAnswered, signal),
      checkProvider: async (provider, settings) => void (await ctx.providers.check(provider, settings)),
    },
  })
}
