/** The tools of an agent, by the settings. */
import type { Session } from '../session/session.js'
import { Toolbox } from '../turn/tools/toolbox.js'
import type { Context } from './context.js'

export function toolboxOf(ctx: Context, session: Session): Toolbox {
  return new Toolbox({
    workspace: session.state.workspace,
    home: ctx.store.root,
    timeoutMs: ctx.bounds.toolTimeoutMs,
    servers: ctx.tools.servers,
  })
}
