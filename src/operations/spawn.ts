/** `spawn`: creates an agent and, with a prompt, runs its first turn. */

import { checkAllow, checkRules } from '../dispatch/allow.js'
import { checkBudget } from '../dispatch/budget-check.js'
import { checkReach } from '../dispatch/caller.js'
import type { Context } from '../dispatch/context.js'
import { effectOfCreation, withEffect } from '../dispatch/effect.js'
import type { Outcome } from '../dispatch/outcome.js'
import { Visit } from '../dispatch/own-visit.js'
import { readState } from '../dispatch/read-state.js'
import { firstTurn, newRun } from '../dispatch/turns.js'
import { CREATED, viewTurn } from '../dispatch/view.js'
import { SubstratError } from '../errors.js'
import { checkContext, contextByDefault } from '../provider/context.js'
import { checkWorkspace } from '../provider/workspace.js'
import type { Cap } from '../schema/budget.js'
import { type MessageOptions, messageOptions } from '../schema/message.js'
import type { WorkspaceScope } from '../schema/words.js'
import { byActor } from '../session/actor.js'
import { openForRead } from '../session/load.js'
import type { NewRecord } from '../session/records.js'
import type { Session } from '../session/session.js'
import type { State } from '../session/state.js'
import { randomUuid } from '../start/random.js'
import type { Store } from '../storage/store.js'
import { createAgent } from '../tree/create-agent.js'
import { type AgentFacts, createdRecord } from '../tree/created.js'
import { checkName, livingChild, livingRoot } from '../tree/names.js'
import { runStarted } from '../turn/step/records.js'
import { deliverMessage } from './message/deliver-message.js'
import { PLAIN } from './message/request.js'

/** `allow` is a right of the agent; the other options are those of its first message. */
export interface SpawnRequest extends Omit<MessageOptions, 'key' | 'digest'> {
  name: string | null
  /** The parent's id; null for a root. */
  parent: string | null
  /** Null: that of its parent, with its model and options, or the default. */
  provider: string | null
  /** For an agent without a parent. Null: only an existing agent can then be used. */
  defaultProvider?: string | null
  model: string | null
  instructions: string | null
  /** Absolute. */
  workspace: string
  /** Which hosts of a shared home may run its turns. Undefined: as for its parent, or as the settings say. */
  workspaceScope?: WorkspaceScope | undefined
  /** How much of the earlier conversation a turn begins with. Undefined: as the settings say. */
  context?: string | undefined
  /** Rules for calls whose result a crash lost. */
  onUnknown?: string[] | undefined
  /** The caps of the agent and everything below it. */
  budget?: Cap[] | undefined
  options: Record<string, string>
  prompt: string | null
  /** What to do if a living agent has the name. */
  ifExists: 'fail' | 'use'
}

type Checked = SpawnRequest & { provider: string; context: string }

export interface SpawnListener {
  /** The agent and its prompt are durable: its first turn will run, even after a crash. */
  onAgent(agent: State): void
  /** The first turn has ended. Called at once if there is no prompt. */
  onOutcome(outcome: Outcome): void
}

export async function spawn(ctx: Context, request: SpawnRequest, listener: SpawnListener): Promise<void> {
  const { parent } = request
  if (parent !== null && parent !== ctx.caller) checkReach(ctx.store, ctx.caller, parent, 'spawn below')
  if (request.workspaceScope !== undefined) refuseUnshared(ctx.store)
  const name = request.name === null ? null : checkName(request.name)
  const existing =
    request.ifExists === 'use' && name !== null ? livingOne(ctx, request.parent, name) : undefined
  if (existing !== undefined) return useExisting(ctx, existing, request, listener)
  const settings = await settingsOf(ctx, request)
  const id = randomUuid()
  let session: Session
  try {
    session = await createAgent(
      ctx.store,
      {
        id,
        name,
        parent: request.parent,
        records: ({ path }) => firstRecords(ctx, { ...settings, id, name, path }, settings),
        command: ctx.command,
        workspaceScope: request.workspaceScope,
      },
      ctx.bounds,
    )
  } catch (caught) {
    const error = withEffect(caught, effectOfCreation(ctx.store, caught, id, NOT_TWICE))
    const isTaken = error instanceof SubstratError && error.code === 'NAME_TAKEN'
    if (!isTaken || request.ifExists !== 'use') throw error
    // Another command created an agent with this name first.
    return useExisting(ctx, String(error.facts.agent_id), request, listener)
  }
  listener.onAgent(session.state)
  try {
    await begin(ctx, session, request.prompt !== null, listener)
  } catch (error) {
    throw withEffect(error, effectOfCreation(ctx.store, error, id, NOT_TWICE))
  }
}

async function begin(
  ctx: Context,
  session: Session,
  hasPrompt: boolean,
  listener: SpawnListener,
): Promise<void> {
  const { id, state } = session
  const visit = new Visit(ctx, id, listener.onOutcome)
  await visit.openNew(session, async () => {
    reportCreation(ctx, session)
    if (!hasPrompt) visit.report({ result: viewTurn(ctx.store, state, null, null, CREATED) })
    else await visit.begin((options) => firstTurn(ctx, session, options))
  })
}

/** The agent is durable and its id is printed, so the command does not fail if its records cannot be read back. */
function reportCreation({ reporter }: Context, session: Session): void {
  try {
    for (const record of session.records({ seq: 1, offset: 0 }))
      reporter.record(record, session.id, session.state.path)
  } catch (error) {
    reporter.note(`the first records are not shown: ${(error as Error).message}`)
  }
}

const NOT_TWICE = 'do not spawn the agent again'

function livingOne(ctx: Context, parent: string | null, name: string): string | undefined {
  return parent === null ? livingRoot(ctx.store, name) : livingChild(ctx.store, parent, name)
}

/** `--if-exists use`: does not change the agent; sends the prompt to it as a message. */
async function useExisting(
  ctx: Context,
  agentId: string,
  request: SpawnRequest,
  listener: SpawnListener,
): Promise<void> {
  ctx.store.makeDurable(agentId)
  const state = openForRead(ctx.store, agentId)?.state as State
  listener.onAgent(state)
  const { prompt } = request
  if (prompt === null) return listener.onOutcome({ result: viewTurn(ctx.store, state, null, null) })
  const message = { ...PLAIN, ...messageOptions(request), agentId, content: prompt }
  return deliverMessage(ctx, message, listener.onOutcome)
}

/** No provider is a safe default: one that only echoes would let a cron job succeed without any work. */
export function noProviderError(naming: string): SubstratError {
  return new SubstratError('PROVIDER_MISCONFIGURED', 'no provider is configured', {
    hint: `list them: substrat providers; then set a default: substrat config set provider NAME; or name one: ${naming}`,
  })
}

/**
 * The request with the model and the options of the agent. Without a provider of its own, a child is like its parent, as with the
 * tool `spawn_agent`. Otherwise they are the user's defaults. They are recorded: later changes of a default change no agent.
 */
async function settingsOf(ctx: Context, request: SpawnRequest): Promise<Checked> {
  const { instructions, workspace } = request
  const above =
    request.provider === null && request.parent !== null ? readState(ctx.store, request.parent) : undefined
  const provider = request.provider ?? above?.provider_name ?? request.defaultProvider ?? null
  if (provider === null) throw noProviderError('--provider NAME')
  checkWorkspace(workspace)
  const chosen = { ...request, provider }
  const settings =
    above === undefined
      ? await ctx.providers.withDefaults(provider, chosen)
      : {
          ...chosen,
          model: request.model ?? above.model,
          options: { ...above.options, ...request.options },
        }
  const { model, options } = settings
  const facts = { workspace, model, instructions, options }
  const found = await ctx.providers.check(provider, facts)
  checkAllow(ctx, found, request.allow)
  checkRules(ctx, { provider, kind: found.kind }, request.onUnknown ?? [])
  if (request.context !== undefined) checkContext(provider, found, facts, request.context)
  if (request.budget !== undefined) checkBudget(ctx, request.budget, { provider, reports: found.reports })
  const byDefault = above === undefined ? ctx.bounds.context : (above.context ?? 'all')
  return { ...settings, context: request.context ?? contextByDefault(found, facts, byDefault) }
}

/** A scope of an agent in a home of one host would have no effect. Throws USAGE. */
export function refuseUnshared({ isShared, address }: Pick<Store, 'isShared' | 'address'>): void {
  if (isShared) return
  throw new SubstratError(
    'USAGE',
    `the home ${address} is not shared by several hosts, so its agents need no host`,
    {
      hint: 'leave out --here and --workspace-scope',
    },
  )
}

function firstRecords(ctx: Context, facts: AgentFacts, request: SpawnRequest): NewRecord[] {
  const { model, options, prompt } = request
  const created = createdRecord({ ...facts, ...byActor() })
  if (prompt === null) return [created]
  const unborn = { state: 'created' as const, provider_name: facts.provider, model, options }
  const message = {
    prompt: { origin: 'operator' as const, content: prompt },
    ...messageOptions({ ...request, digest: null }),
  }
  return [created, ...runStarted(unborn, newRun(ctx, undefined, message))]
}
