/**
 * A decision that another command made about a wait, while a person here was asked about it: its maker, as far as that is known,
 * and the outcome of the turn.
 */
import { continueLatest, hasNoMoreTurns } from '../dispatch/advance.js'
import type { Context } from '../dispatch/context.js'
import { endOfWaitOn, endText } from '../dispatch/last-decision.js'
import { failureOf, type OnOutcome, type Outcome, outcomeOf } from '../dispatch/outcome.js'
import { type Visit, visitAndFinish } from '../dispatch/own-visit.js'
import { incompleteOf, viewTurn } from '../dispatch/view.js'
import { readerHere } from '../session/actor.js'
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

/** A sentence. A log of an earlier version has no name of the one who decided. */
export function decidedElsewhereText(store: Store, asked: Asked): string {
  const end = endOfWaitOn(store, asked.agentId, asked.token_id)
  if (end === undefined) return `${asked.path} no longer waits for this decision`
  return `${asked.path} ${endText(end, readerHere())}; nothing was decided here`
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
