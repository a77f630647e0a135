/** `set`: changes the settings of an agent, from its next turn on. */

import { checkAllow } from '../dispatch/allow.js'
import { checkReach } from '../dispatch/caller.js'
import type { Context } from '../dispatch/context.js'
import { nameOf } from '../dispatch/outcome.js'
import { viewAgent } from '../dispatch/view.js'
import { visit } from '../dispatch/visit.js'
import { SessionStateError, SubstratError } from '../errors.js'
import { stopKeptServerOrThrow } from '../provider/kept-server.js'
import { settingsOf } from '../recovery/settle.js'
import type { AgentView } from '../schema/output.js'
import type { NewRecord } from '../session/records.js'
import { howEnded } from '../session/status.js'
import { checkWorkspace } from './spawn.js'

export type Changes = Omit<NewRecord<'session.configured'>, 'kind' | 'hold'>

/** Throws USAGE if there is nothing to change or the new settings cannot work. Throws TREE_RULES. */
export async function configure(ctx: Context, agentId: string, changes: Changes): Promise<AgentView> {
  if (Object.keys(changes).length === 0) {
    throw new SubstratError('USAGE', 'there is nothing to change', { hint: 'substrat set --help' })
  }
  checkReach(ctx.store, ctx.caller, agentId, 'change')
  return visit(ctx, agentId, { waitMs: ctx.bounds.waitMs, goesOn: false }, async (session) => {
    const { state } = session
    if (state.state === 'terminated') {
      throw new SessionStateError(`${nameOf(state)} ${howEnded(state)} and cannot be changed`, {
        hint: 'start another agent: substrat spawn',
        facts: { agent_id: state.id },
      })
    }
    if (changes.workspace !== undefined) checkWorkspace(changes.workspace)
    const settings = settingsOf(session)
    const model = await modelOf(ctx, state.provider_name, changes.model)
    const provider = await ctx.providers.check(state.provider_name, {
      ...settings,
      model: model === undefined ? settings.model : model,
      workspace: changes.workspace ?? settings.workspace,
      options: { ...settings.options, ...changes.options },
    })
    checkAllow(ctx, provider, changes.allow ?? [])
    // The kept server was started with the old settings.
    if (changes.workspace !== undefined || changes.options !== undefined || changes.model !== undefined)
      await stopKeptServerOrThrow(session, (text) => ctx.reporter.note(text))
    session.append([{ kind: 'session.configured', ...changes, ...(model === undefined ? {} : { model }) }])
    return viewAgent(ctx.store, session.state)
  })
}

/** `--model ''` selects the default of a new agent with this provider. */
async function modelOf(
  ctx: Context,
  provider: string,
  model: string | null | undefined,
): Promise<string | null | undefined> {
  if (model !== null) return model
  return (await ctx.providers.withDefaults(provider, { model, options: {} })).model
}
