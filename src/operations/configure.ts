/** `set`: changes the settings of an agent, from its next turn on. */

import { checkAllow, checkRules } from '../dispatch/allow.js'
import { checkBudget, checkUsed } from '../dispatch/budget-check.js'
import { checkReach } from '../dispatch/caller.js'
import type { Context } from '../dispatch/context.js'
import { wordOf } from '../dispatch/outcome.js'
import { refuseElsewhere } from '../dispatch/turn-obstacle.js'
import { viewAgent } from '../dispatch/view.js'
import { visit } from '../dispatch/visit.js'
import { SessionStateError, SubstratError } from '../errors.js'
import { checkContext } from '../provider/context.js'
import { stopKeptServerOrThrow } from '../provider/kept-server.js'
import { checkWorkspace } from '../provider/workspace.js'
import { settingsOf } from '../recovery/settle.js'
import type { AgentView } from '../schema/output.js'
import type { NewRecord } from '../session/records.js'
import type { Session } from '../session/session.js'
import type { State } from '../session/state.js'
import { howEnded } from '../session/status.js'
import { type Host, hostOf, hostWord, placeHere } from '../session/workspace-host.js'
import { refuseUnshared } from './spawn.js'

interface OtherChanges {
  /** The agent belongs to this host from now on. */
  isHere?: boolean
  /** The entries of `allow` to take back. */
  disallow?: string[]
}

export type Changes = Omit<NewRecord<'session.configured'>, 'kind' | 'hold' | 'host_id' | 'host_name'>

/** Throws USAGE if there is nothing to change or the new settings cannot work. Throws TREE_RULES, and OTHER_HOST for a directory. */
export async function configure(
  ctx: Context,
  agentId: string,
  changes: Changes,
  { isHere = false, disallow = [] }: OtherChanges = {},
): Promise<AgentView> {
  if (isHere || changes.workspace_scope !== undefined) refuseUnshared(ctx.store)
  if (Object.keys(changes).length === 0 && !isHere && disallow.length === 0) {
    throw new SubstratError('USAGE', 'there is nothing to change', { hint: 'substrat set --help' })
  }
  checkReach(ctx.store, ctx.caller, agentId, 'change')
  return visit(ctx, agentId, { waitMs: ctx.bounds.waitMs, continuesTurn: false }, async (session) => {
    const { state } = session
    if (state.state === 'terminated') {
      throw new SessionStateError(`${state.path} ${howEnded(state)} and cannot be changed`, {
        hint: 'start another agent: substrat spawn',
        facts: { agent_id: state.id },
      })
    }
    // A directory of another host cannot be checked here.
    if (changes.workspace !== undefined && !isHere) refuseElsewhere(ctx.store, state)
    if (changes.workspace !== undefined || isHere) checkWorkspace(changes.workspace ?? state.workspace)
    const settings = settingsOf(session)
    const model = await modelOf(ctx, state.provider_name, changes.model)
    const changed = {
      ...settings,
      model: model === undefined ? settings.model : model,
      workspace: changes.workspace ?? settings.workspace,
      options: { ...settings.options, ...changes.options },
    }
    const provider = await ctx.providers.check(state.provider_name, changed)
    checkAllow(ctx, provider, changes.allow ?? [])
    checkRules(ctx, { provider: state.provider_name, kind: provider.kind }, changes.on_unknown ?? [])
    checkContext(state.provider_name, provider, changed, changes.context ?? state.context ?? 'all')
    if (changes.budget !== undefined) {
      checkBudget(ctx, changes.budget, { provider: state.provider_name, reports: provider.reports })
      checkUsed(ctx, state, changes.budget)
      // Durable before the cap: a child looks for caps above it only in a home that has accounts.
      ctx.store.accounts?.open(state.id)
    }
    // The kept server was started with the old settings.
    if (
      isHere ||
      changes.workspace !== undefined ||
      changes.options !== undefined ||
      changes.model !== undefined
    )
      await stopKeptServerOrThrow(session, (text) => ctx.reporter.note(text))
    const place = isHere ? placeHere(ctx.store) : placeIfUnknown(session)
    const own = {
      ...(model === undefined ? {} : { model }),
      ...(disallow.length === 0 ? {} : { allow: allowWithout(ctx, state, disallow) }),
    }
    session.append([{ kind: 'session.configured', ...changes, ...own, ...place }])
    return viewAgent(ctx.store, session.state)
  })
}

function allowWithout({ tools }: Context, state: State, disallow: string[]): string[] {
  const unknown = disallow.find((entry) => !state.allow.includes(entry))
  if (unknown === undefined) return state.allow.filter((entry) => !disallow.includes(entry))
  if (tools.allow.includes(unknown)) throw allowedForAllError(state, unknown)
  const there = state.allow.length === 0 ? 'no tool' : `only ${state.allow.join(', ')}`
  throw new SubstratError(
    'USAGE',
    `${state.path} has no entry ${JSON.stringify(unknown)}: it allows ${there}`,
    {
      hint: `see its entries: substrat show ${wordOf(state)}; those of every agent: substrat config get allow`,
      facts: { agent_id: state.id },
    },
  )
}

function allowedForAllError({ id, path }: State, entry: string): SubstratError {
  const why = `${JSON.stringify(entry)} is allowed for every agent, by the setting allow`
  return new SubstratError('USAGE', `${why}, and cannot be taken from ${path} alone`, {
    hint: 'see where it is set: substrat config list; change it: substrat config set allow TOOLS',
    facts: { agent_id: id },
  })
}

/** A scope needs a host. An agent from a home of one host has none yet. */
function placeIfUnknown({ store, state }: Session): Host {
  if (!store.isShared || state.workspace_host !== undefined) return {}
  const host = hostOf(state)
  return host === undefined ? placeHere(store) : { ...host, host_name: hostWord(host) }
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
