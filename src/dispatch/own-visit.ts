/**
 * A command on one agent: a visit, the command's own turn and its outcome, turns for pending mail, then turns of other
 * agents that received mail because of it.
 */
import type { SettleResult } from '../recovery/settle.js'
import type { Session } from '../session/session.js'
import type { Run } from '../session/state.js'
import { hasNoMoreTurns, takeMail } from './advance.js'
import type { Context } from './context.js'
import { withDrain } from './deliveries.js'
import { effectOnTurn, withEffect } from './effect.js'
import { type OnOutcome, outcomeOf, wasStopped } from './outcome.js'
import type { TurnOptions } from './turns.js'
import { visit } from './visit.js'

/** Waits up to `waitMs` while another process holds the agent. */
export function visitAndDrain(
  ctx: Context,
  agentId: string,
  onOutcome: OnOutcome,
  work: (session: Session, settled: SettleResult, onOutcome: OnOutcome) => Promise<void>,
): Promise<void> {
  return withDrain(ctx, agentId, onOutcome, (report) =>
    visit(ctx, agentId, { waitMs: ctx.bounds.waitMs, continuesTurn: true }, (session, settled) =>
      work(session, settled, report),
    ),
  )
}

/**
 * `begin` returns the run. If that run was stopped, pending mail stays pending. `not` says that a person must not repeat the command
 * once the turn has begun. Undefined if repeating it continues the turn.
 */
export async function runOwnTurn(
  ctx: Context,
  session: Session,
  onOutcome: OnOutcome,
  begin: (options: TurnOptions) => Promise<Run>,
  not?: string,
): Promise<void> {
  const before = session.state
  let run: Run
  try {
    run = await begin({ isLast: () => hasNoMoreTurns(ctx, session) })
    onOutcome(outcomeOf(ctx, session, run))
  } catch (error) {
    const effect = not && effectOnTurn(ctx.store, { before, after: session.state, error, not })
    throw withEffect(error, effect || undefined)
  }
  if (!wasStopped(run)) await takeMail(ctx, session, ctx.deliveries.budget)
}
