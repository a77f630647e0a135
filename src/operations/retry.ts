/** `retry`: the prompt of the latest turn again, where that failed or was cancelled. */

import { checkReach } from '../dispatch/caller.js'
import type { Context } from '../dispatch/context.js'
import { withDrain } from '../dispatch/drain.js'
import { goOn, nothingWaits, takeMail } from '../dispatch/go-on.js'
import { nameOf, type Outcome, outcomeOf, wasStopped, wordOf } from '../dispatch/outcome.js'
import { continueTurn } from '../dispatch/turns.js'
import { visit } from '../dispatch/visit.js'
import { SessionStateError } from '../errors.js'
import type { Settled } from '../recovery/settle.js'
import type { Session } from '../session/session.js'
import type { State } from '../session/state.js'

export async function retry(
  ctx: Context,
  agentId: string,
  onOutcome: (outcome: Outcome) => void,
): Promise<void> {
  checkReach(ctx.store, ctx.caller, agentId, 'retry')
  await withDrain(ctx, agentId, onOutcome, (told) =>
    visit(ctx, agentId, { waitMs: ctx.bounds.waitMs, goesOn: true }, (session, settled) =>
      retryIn(ctx, session, settled, told),
    ),
  )
}

async function retryIn(
  ctx: Context,
  session: Session,
  settled: Settled,
  onOutcome: (outcome: Outcome) => void,
): Promise<void> {
  const isLast = (): boolean => nothingWaits(ctx, session)
  // What was interrupted is gone on with, which is the same wish.
  const wentOn = await goOn(ctx, session, { auto: false, settled, isLast })
  const hasRun = wentOn.outcome === 'ran' || wentOn.outcome === 'waiting'
  if (!hasRun) refuseWithoutFailure(session.state)
  const run = hasRun ? wentOn.run : await continueTurn(ctx, session, false, { isLast })
  onOutcome(outcomeOf(ctx, session, run))
  if (!wasStopped(run)) await takeMail(ctx, session, ctx.deliveries.budget)
}

function refuseWithoutFailure(state: State): void {
  const status = state.run?.status
  if (state.state !== 'terminated' && (status === 'failed' || status === 'cancelled')) return
  const why = status === undefined ? 'it has had no turn yet' : `its latest turn ${status}`
  throw new SessionStateError(
    `there is nothing to retry for ${nameOf(state)}: ${state.state === 'terminated' ? 'it is terminated' : why}`,
    {
      hint: `see what it did: substrat log ${wordOf(state)}`,
      facts: { agent_id: state.id },
    },
  )
}
