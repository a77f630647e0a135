/**
 * A command on one agent: its visit, the turn that it is for, the outcome, turns for pending mail, and then for the
 * mail that all this caused elsewhere.
 */
import type { SettleResult } from '../recovery/settle.js'
import type { Session } from '../session/session.js'
import type { Run } from '../session/state.js'
import { hasNoMoreTurns, takeMail } from './advance.js'
import type { Context } from './context.js'
import { withDrain } from './deliveries.js'
import { type OnOutcome, outcomeOf, wasStopped } from './outcome.js'
import type { TurnOptions } from './turns.js'
import { visit } from './visit.js'

/** The agent is waited for while another process holds it. */
export function visitAndDrain(
  ctx: Context,
  agentId: string,
  onOutcome: OnOutcome,
  work: (session: Session, settled: SettleResult, onOutcome: OnOutcome) => Promise<void>,
): Promise<void> {
  return withDrain(ctx, agentId, onOutcome, (told) =>
    visit(ctx, agentId, { waitMs: ctx.bounds.waitMs, goesOn: true }, (session, settled) =>
      work(session, settled, told),
    ),
  )
}

/** `begin` says which run it was. Where somebody stopped it, pending mail stays where it is. */
export async function runOwnTurn(
  ctx: Context,
  session: Session,
  onOutcome: OnOutcome,
  begin: (options: TurnOptions) => Promise<Run>,
): Promise<void> {
  const run = await begin({ isLast: () => hasNoMoreTurns(ctx, session) })
  onOutcome(outcomeOf(ctx, session, run))
  if (!wasStopped(run)) await takeMail(ctx, session, ctx.deliveries.budget)
}
