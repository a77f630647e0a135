/** `fork`: copies the conversation of an agent into a new agent, with the same provider or another one. */

import { checkReach } from '../dispatch/caller.js'
import type { Context } from '../dispatch/context.js'
import { effectOfCreation, withEffect } from '../dispatch/effect.js'
import { forkPoint } from '../dispatch/fork-point.js'
import { wordOf } from '../dispatch/outcome.js'
import { readState } from '../dispatch/read-state.js'
import { conversationIn } from '../dispatch/seed.js'
import { CREATED, viewTurn } from '../dispatch/view.js'
import { finishAfter } from '../dispatch/visit.js'
import { SubstratError } from '../errors.js'
import { contextByDefault } from '../provider/context.js'
import { checkWorkspace } from '../provider/workspace.js'
import type { TurnResult } from '../schema/output.js'
import type { Content } from '../schema/types.js'
import { byActor } from '../session/actor.js'
import { loadFrom, recordAt, recordsOfKinds, withAgent } from '../session/load.js'
import { readText } from '../session/read.js'
import type { NewRecord } from '../session/records.js'
import type { State } from '../session/state.js'
import { randomUuid } from '../start/random.js'
import { LogPrefix, type LogReader, type Store } from '../storage/store.js'
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
  /** Copy only the conversation up to this turn or message, as `forkPoint` reads it. Absent: all of it. */
  at?: string | undefined
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
  const copied = copyOf(ctx.store, from, request.at, isSame && kind === 'model')
  // Before the first message there is nothing to copy, and the new agent begins anew.
  if (copied === undefined && request.at === undefined) {
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
  const seeded: NewRecord[] =
    copied === undefined ? [] : [{ kind: 'session.seeded', from: from.id, ...copied }]
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
      ...seeded,
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

type Copied = Omit<NewRecord<'session.seeded'>, 'kind' | 'from'>

/** The conversation, or its part. Undefined if it is empty. */
function copyOf(
  store: Store,
  { id, path }: State,
  at: string | undefined,
  withMessages: boolean,
): Copied | undefined {
  return withAgent(store, id, (loaded, { log: whole }) => {
    if (at === undefined) return copyIn(store, loaded.state, whole, withMessages)
    const log = new LogPrefix(whole, forkPoint({ id, path }, whole, at))
    if (log.size() === 0) return undefined
    const { state } = loadFrom(log, undefined)
    const copied = copyIn(store, state, log, withMessages)
    return copied && { ...copied, last_seq: state.last_seq }
  })
}

function copyIn(store: Store, state: State, log: LogReader, withMessages: boolean): Copied | undefined {
  const text = (content: Content): string => readText(store, state.id, content)
  const content = conversationIn({ log, text, ids: [state.id] }, { continuesTurn: false })
  if (content === undefined) return undefined
  return { content, ...(withMessages ? copyMessages(state, log, text) : {}) }
}

/**
 * The messages as the original's model receives them. Only its own provider may get them: they hold items, such as signed
 * reasoning, which other providers refuse.
 */
function copyMessages(
  state: State,
  log: LogReader,
  text: (content: Content) => string,
): Pick<NewRecord<'session.seeded'>, 'conversation' | 'responses'> {
  const session: Readable = {
    state,
    recordAt: (at) => recordAt(log, at),
    *recordsOfKinds(from, kinds) {
      for (const { record } of recordsOfKinds(log, from, state.log_bytes, kinds)) yield record
    },
    text,
  }
  const [messages, responses] = [conversation(session), responsesBefore(session)]
  if (messages.length === 0) return {}
  return { conversation: JSON.stringify(messages), ...(responses === 0 ? {} : { responses }) }
}
