/**
 * A decision that another command made about a wait, while a person here was asked about it: its maker, as far as that is known,
 * and the outcome of the turn.
 */
import { continueLatest, hasNoMoreTurns } from '../dispatch/advance.js'
import type { Context } from '../dispatch/context.js'
import { failureOf, type OnOutcome, type Outcome, outcomeOf } from '../dispatch/outcome.js'
import { type Visit, visitAndFinish } from '../dispatch/own-visit.js'
import { incompleteOf, viewTurn } from '../dispatch/view.js'
import type { Decision } from '../schema/words.js'
import { recordsFrom, withAgent } from '../session/load.js'
import { readContinuedRun } from '../session/past-run.js'
import { readableState } from '../session/peek-state.js'
import type { TokenEntry } from '../session/state.js'
import { openWait } from '../session/status.js'
import type { Store } from '../storage/store.js'
import type { PendingAsk } from './pending-calls.js'

type Asked = Pick<PendingAsk, 'agentId' | 'path' | 'runId' | 'token_id'>

/** Whether the agent still waits for this decision. True if it cannot be read now. */
export function isPending(store: Store, { agentId, token_id }: Asked): boolean {
  const state = readableState(store, agentId)
  return state === undefined || openWait(state)?.resume_token_id === token_id
}

const WORDS: Record<Decision, string> = {
  approve: 'was approved',
  deny: 'was denied',
  input: 'was answered',
  result: 'got a result',
}

/** A sentence. A decision has no name in the log, so the command is named only while it still holds the agent. */
export function decidedElsewhereText(store: Store, asked: Asked): string {
  const decision = decisionIn(store, asked)
  if (decision === undefined) return `${asked.path} no longer waits for this decision`
  const holder = store.isHeld(asked.agentId) ? store.holder(asked.agentId) : undefined
  const by =
    holder === undefined ? 'by another command' : `by ${holder.command}, pid ${holder.pid} on ${holder.host}`
  return `${asked.path} ${WORDS[decision]} ${by}; nothing was decided here`
}

/** A decision without the token has replaced it in the same batch. So the first decision after that token counts, also with another token. */
function decisionIn(store: Store, { agentId, runId, token_id }: Asked): Decision | undefined {
  return withAgent(store, agentId, ({ state }, { log }) => {
    const run = state.tokens.find((entry) => entry.token_id === token_id)?.run
    if (run === undefined) return undefined
    let decision: Decision | undefined
    let isAfter = false
    for (const { record } of recordsFrom(log, run)) {
      isAfter ||= record.kind === 'token.minted' && record.token_id === token_id
      if (isAfter && record.kind === 'token.consumed' && record.run_id === runId) decision ??= record.decision
    }
    return decision
  })
}

/** Waits for the command that decided, continues the turn if that command died, and reports the outcome of the turn. */
export async function followDecision(ctx: Context, asked: Asked, onOutcome: OnOutcome): Promise<void> {
  await visitAndFinish(ctx, asked.agentId, onOutcome, async (visit) => {
    const entry = visit.session.state.tokens.find(({ token_id }) => token_id === asked.token_id)
    if (entry !== undefined) return visit.report(await outcomeOfDecided(visit, entry))
    const { store } = ctx
    const { state } = visit.session
    visit.report({ result: viewTurn(store, state, state.run, null) })
  })
}

/** The outcome of the turn whose wait had this token. If the process of its decision was killed, continues the turn. */
export async function outcomeOfDecided(
  { ctx, session, settled }: Visit,
  entry: TokenEntry,
): Promise<Outcome> {
  const { run } = session.state
  const past = readContinuedRun(ctx.store, session.id, entry.run)
  if (run?.run_id === past.run_id) {
    const wentOn = await continueLatest(ctx, session, {
      auto: false,
      settled,
      isLast: () => hasNoMoreTurns(ctx, session),
    })
    return outcomeOf(ctx, session, wentOn.outcome === 'ran' ? wentOn.run : run)
  }
  return {
    result: { ...viewTurn(ctx.store, session.state, past, past.reply), ...incompleteOf(past) },
    failure: failureOf(session.state, past, undefined, undefined, false),
  }
}
