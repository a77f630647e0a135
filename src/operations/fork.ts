/** `fork`: copies the conversation of an agent into a new agent, with the same provider or another one. */

import { checkReach } from '../dispatch/caller.js'
import type { Context } from '../dispatch/context.js'
import { effectOfCreation, withEffect } from '../dispatch/effect.js'
import { wordOf } from '../dispatch/outcome.js'
import { readState } from '../dispatch/read-state.js'
import { conversationText } from '../dispatch/seed.js'
import { CREATED, viewTurn } from '../dispatch/view.js'
import { finishAfter } from '../dispatch/visit.js'
import { SubstratError } from '../errors.js'
import { contextByDefault } from '../provider/context.js'
import { checkWorkspace } from '../provider/workspace.js'
import type { TurnResult } from '../schema/output.js'
import { byActor } from '../session/actor.js'
import { recordAt, recordsOfKinds, withAgent } from '../session/load.js'
import { readText } from '../session/read.js'
import type { NewRecord } from '../session/records.js'
import { randomUuid } from '../start/random.js'
import type { Store } from '../storage/store.js'
import { createAgent, type NewAgent } from '../tree/create-agent.js'
import { createdRecord } from '../tree/created.js'
import { checkName } from '../tree/names.js'
import { conversation, responsesBefore } from '../turn/prompt/history.js'
import type { Readable } from '../turn/prompt/prompt-records.js'

export interface ForkRequest {
  agentId: string
  name: string | null
  /** Null: the provider of the original agent. */
  provider: string | null
  model: string | null
  /** Absolute. */
  workspace: string | null
  options: Record<string, string>
}

/** Durable when it returns. The new agent is a sibling of the original, which does not change. */
export async function fork(ctx: Context, request: ForkRequest): Promise<TurnResult> {
  // The new agent has the same parent. So it is below the caller if the original is.
  checkReach(ctx.store, ctx.caller, request.agentId, 'fork')
  const from = readState(ctx.store, request.agentId)
  const provider = request.provider ?? from.provider_name
  const isSame = provider === from.provider_name
  const given = {
    provider,
    model: request.model ?? (isSame ? from.model : null),
    instructions: from.instructions === null ? null : readText(ctx.store, from.id, from.instructions),
    workspace: request.workspace ?? from.workspace,
    options: { ...(isSame ? from.options : {}), ...request.options },
  }
  const settings = isSame ? given : await ctx.providers.withDefaults(provider, given)
  checkWorkspace(settings.workspace)
  const found = await ctx.providers.check(provider, settings)
  const { kind } = found
  const content = conversationText(ctx.store, from.id, { continuesTurn: false })
  if (content === undefined) {
    throw new SubstratError('SESSION_STATE', `${from.path} has no conversation to continue yet`, {
      hint: `send it something first: substrat send ${wordOf(from)} '…'`,
      facts: { agent_id: from.id },
    })
  }
  const id = randomUuid()
  const name = request.name === null ? null : checkName(request.name)
  const { parent, allow } = from
  const onUnknown = kind === 'model' ? from.on_unknown : undefined
  const context = contextByDefault(found, settings, from.context ?? 'all')
  const copied = isSame && kind === 'model' ? copyMessages(ctx.store, from.id) : {}
  const seeded: NewRecord = { kind: 'session.seeded', from: from.id, content, ...copied }
  const agent: NewAgent = {
    id,
    name,
    parent,
    records: ({ path }) => [
      createdRecord({
        id,
        name,
        parent,
        path,
        allow,
        onUnknown,
        context,
        budget: from.budget?.caps,
        ...settings,
        ...byActor(),
      }),
      seeded,
    ],
    command: ctx.command,
  }
  try {
    const session = await createAgent(ctx.store, agent, ctx.bounds)
    return await finishAfter(ctx, session, true, async () =>
      viewTurn(ctx.store, session.state, null, null, CREATED),
    )
  } catch (error) {
    throw withEffect(error, effectOfCreation(ctx.store, error, id, 'do not fork the original again'))
  }
}

/**
 * The messages as the original's model receives them. Only its own provider may get them: they hold items, such as signed
 * reasoning, which other providers refuse.
 */
function copyMessages(
  store: Store,
  agentId: string,
): Pick<NewRecord<'session.seeded'>, 'conversation' | 'responses'> {
  const copied = withAgent(store, agentId, ({ state }, { log }) => {
    const session: Readable = {
      state,
      recordAt: (at) => recordAt(log, at),
      *recordsOfKinds(from, kinds) {
        for (const { record } of recordsOfKinds(log, from, state.log_bytes, kinds)) yield record
      },
      text: (content) => readText(store, agentId, content),
    }
    return { messages: conversation(session), responses: responsesBefore(session) }
  })
  if (copied === undefined || copied.messages.length === 0) return {}
  const { messages, responses } = copied
  return { conversation: JSON.stringify(messages), ...(responses === 0 ? {} : { responses }) }
}
