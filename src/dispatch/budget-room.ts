/** Whether a turn that waits for a budget may go on now: a cap was raised, or other requests used less than they held. */
import type { Session } from '../session/session.js'
import type { Wait } from '../session/state.js'
import { TurnBudget } from '../turn/budget/turn-budget.js'
import type { Context } from './context.js'

export async function fitsNow({ bounds, command }: Context, session: Session, wait: Wait): Promise<boolean> {
  const { run } = session.state
  if (wait.kind !== 'budget' || run === null) return false
  const budget = TurnBudget.of(session, bounds.budget, command)
  return budget === undefined || budget.fits(run.run_id, wait.needs ?? {})
}
