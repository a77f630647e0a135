/**
 * `compact`: makes the conversation of a model agent shorter between two turns.
 *
 * The request for the summary changes nothing on disk. A kill before the record is durable leaves row A of the recovery table with
 * the whole conversation, and a kill after it leaves row A with the shorter one. No turn starts, so a gate and a hold do not matter.
 * A request that fails has a record too, as in a turn: its usage counts.
 */

import { clock } from '../clock.js'
import { checkReach } from '../dispatch/caller.js'
import type { Context } from '../dispatch/context.js'
import { codeOfFailure, wordOf } from '../dispatch/outcome.js'
import { refuseElsewhere, turnObstacle } from '../dispatch/turn-obstacle.js'
import { budgetOf } from '../dispatch/turns.js'
import { viewAgent } from '../dispatch/view.js'
import { visit } from '../dispatch/visit.js'
import { SessionStateError, SubstratError } from '../errors.js'
import { CHANNEL } from '../format.js'
import type { ModelProvider } from '../provider/contract.js'
import type { FailureReport } from '../provider/failure.js'
import { takeSlot } from '../provider/slots.js'
import { settingsOf } from '../recovery/settle.js'
import type { CompactedAgent } from '../schema/output.js'
import { causeOf } from '../schema/reasons.js'
import { byActor } from '../session/actor.js'
import { refillText } from '../session/budget/caps.js'
import type { NewRecord } from '../session/records.js'
import type { Session } from '../session/session.js'
import type { Run, State } from '../session/state.js'
import { howEnded, isCompactedSince, isUnfinished } from '../session/status.js'
import { timeoutSignal } from '../timeout-signal.js'
import { UncaughtErrors } from '../turn/ask/uncaught-errors.js'
import { Holds } from '../turn/budget/holds.js'
import { wasAnsweredBefore } from '../turn/prompt/answered-before.js'
import { type ByHand, type Compacted, compact } from '../turn/prompt/compact.js'
import { compactedRecord } from '../turn/step/model.js'
import { modelFailure } from '../turn/step/records.js'
import { mintToken } from '../turn/tokens.js'

export type CompactOptions = Omit<ByHand, 'wasAnswered'>

/** Throws SESSION_STATE, OTHER_HOST, TREE_RULES. */
export function compactAgent(
  ctx: Context,
  agentId: string,
  options: CompactOptions,
): Promise<CompactedAgent> {
  checkReach(ctx.store, ctx.caller, agentId, 'compact')
  return visit(ctx, agentId, { waitMs: ctx.bounds.waitMs, continuesTurn: false }, async (session) => {
    const provider = await checkedProvider(ctx, session)
    const { run_id } = session.state.run as Run
    // A repeated command leaves out no more than the first one, whose outcome may have been lost.
    const isRepeated = options.keep === undefined && options.drops !== true && isCompactedSince(session.state)
    const holds = isRepeated || options.drops ? undefined : holdsOf(ctx, session, provider)
    const made = isRepeated ? NONE : await shorten(ctx, session, provider, options, holds)
    if (made.type === 'failed') {
      session.append([modelFailure(run_id, made, null)])
      await holds?.publish()
      throw noSummary(session.state, made)
    }
    if (made.type === 'compacted')
      session.append([{ ...compactedRecord(run_id, made), ...byActor() } as NewRecord])
    await holds?.publish()
    const agent = viewAgent(ctx.store, session.state)
    return made.type === 'none'
      ? { agent, compacted: false, how: null, messages: 0 }
      : { agent, compacted: true, how: made.how, messages: made.messages }
  })
}

const NONE: Compacted = { type: 'none' }

async function checkedProvider(ctx: Context, session: Session): Promise<ModelProvider> {
  const { state } = session
  const { provider_name: name } = state
  refuseElsewhere(ctx.store, state)
  if (state.state === 'terminated') throw refusal(state, `it ${howEnded(state)}`)
  if (name === CHANNEL) throw refusal(state, 'a channel has no conversation with a model')
  const provider = await ctx.providers.check(name, settingsOf(session))
  if (provider.kind === 'agent')
    throw refusal(state, `${name} keeps the conversation itself, and substrat cannot change it`)
  if (state.run === null) throw refusal(state, 'it has had no turn yet')
  if (isUnfinished(state)) {
    const next = turnObstacle(ctx.store, state, 'mail')?.next ?? `substrat resume ${wordOf(state)}`
    throw refusal(state, 'its latest turn is not finished', `finish it first: ${next}`)
  }
  return provider
}

function refusal(state: State, why: string, hint?: string): SessionStateError {
  return new SessionStateError(`the conversation of ${state.path} cannot be compacted: ${why}`, {
    hint: hint ?? `see what it did: substrat log ${wordOf(state)}`,
    facts: { agent_id: state.id },
  })
}

async function shorten(
  ctx: Context,
  session: Session,
  provider: ModelProvider,
  options: CompactOptions,
  holds: Holds | undefined,
): Promise<Compacted> {
  ctx.shutdown.listen()
  const asked = ctx.shutdown.whenRequested
  const byHand = { ...options, wasAnswered: wasAnsweredBefore(session) }
  // Without a request to the model there is nothing to wait for.
  const slot = options.drops ? undefined : await slotFor(ctx, session.state, asked)
  const uncaught = new UncaughtErrors()
  try {
    const signal = AbortSignal.any([asked, timeoutSignal(ctx.bounds.turnTimeoutMs)])
    const settings = settingsOf(session)
    const made = await compact(session, provider, settings, { signal, uncaught }, byHand, async () => {
      if (holds !== undefined) await holdSummary(session, holds)
      return holds?.bounded(settings) ?? settings
    })
    if (signal.aborted) throw stoppedRequest(ctx, session, made)
    return made
  } finally {
    uncaught.close()
    await slot?.release()
  }
}

/** Undefined without a cap over the agent. */
function holdsOf(ctx: Context, session: Session, provider: ModelProvider): Holds | undefined {
  const budget = budgetOf(ctx, session)
  if (budget === undefined || provider.summarises === false) return undefined
  const parts = { provider, settings: settingsOf(session), toolbox: { definitions: [] }, budget }
  const tokenExpiry = (): string => new Date(clock.now() + ctx.bounds.tokenLifetimeMs).toISOString()
  const owner = { tried: () => undefined, newToken: () => mintToken(tokenExpiry()).token }
  return new Holds(session, { ...parts, tokenExpiry, note: (text) => ctx.reporter.note(text) }, owner)
}

/** A kill after the record leaves a hold without an answer, in row A: it is spent. */
async function holdSummary(session: Session, holds: Holds): Promise<void> {
  const found = await holds.before('summary')
  if (found === undefined) return
  if (found.type === 'held') {
    session.append([found.record])
    return
  }
  const { state } = session
  const word = wordOf(state)
  throw new SubstratError(
    'WAITING',
    `the conversation of ${state.path} cannot be summarised now: ${found.why}; ${refillText(found.notBefore)}`,
    {
      hint: `run it again later: substrat compact ${word}; or leave the messages out without a summary: substrat compact ${word} --drop`,
      facts: { agent_id: state.id },
    },
  )
}

async function slotFor(ctx: Context, state: State, signal: AbortSignal): ReturnType<typeof takeSlot> {
  const { slotsMax, waitMs } = ctx.bounds
  const onWait = (): void => ctx.reporter.note(`waiting for one of ${slotsMax} slots for provider calls`)
  try {
    return await takeSlot(ctx.store, { slotsMax, waitMs, command: ctx.command, signal, onWait })
  } catch (error) {
    throw stoppedBy(ctx, state) ?? error
  }
}

/** The service may charge for an answer that was stopped. */
function stoppedRequest(ctx: Context, session: Session, made: Compacted): SubstratError {
  const error = stoppedBy(ctx, session.state) ?? tooLate(session.state)
  const { run_id } = session.state.run as Run
  const stopped = { type: 'timeout', message: 'the request for a summary was stopped' } as const
  if ('usage' in made) session.append([modelFailure(run_id, { ...made, error: stopped }, null)])
  return error
}

function stoppedBy({ shutdown }: Context, state: State): SubstratError | undefined {
  const { requested } = shutdown
  return (
    requested &&
    new SubstratError(`STOPPED_${requested}`, `stopped by ${requested}: the conversation is unchanged`, {
      hint: `run it again: substrat compact ${wordOf(state)}`,
    })
  )
}

function tooLate(state: State): SubstratError {
  const message = `the summary for ${state.path} did not come in time; the conversation is unchanged`
  return new SubstratError('TIMED_OUT', message, {
    hint: `run it again: substrat compact ${wordOf(state)}`,
    facts: { agent_id: state.id },
  })
}

function noSummary(state: State, { error }: FailureReport): SubstratError {
  const message = `the request for a summary of ${state.path} failed: ${causeOf(error)}; the conversation is unchanged`
  const word = wordOf(state)
  const first =
    error.type === 'invalid'
      ? `check its model and options: substrat show ${word}; then: substrat compact ${word}`
      : `run it again later: substrat compact ${word}`
  return new SubstratError(codeOfFailure(error.type), message, {
    hint: `${first}; or leave the messages out without a summary: substrat compact ${word} --drop`,
    facts: { agent_id: state.id, type: error.type },
  })
}
