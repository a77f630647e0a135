/** `retry`: repeats the prompt of the latest turn if that turn failed or was cancelled. */

import { continueLatest } from '../dispatch/advance.js'
import { checkReach } from '../dispatch/caller.js'
import type { Context } from '../dispatch/context.js'
import { type OnOutcome, wordOf } from '../dispatch/outcome.js'
import { type Visit, visitAndFinish } from '../dispatch/own-visit.js'
import { refuseElsewhere } from '../dispatch/turn-obstacle.js'
import { continueTurn, type TurnOptions } from '../dispatch/turns.js'
import { SessionStateError } from '../errors.js'
import type { Run, State } from '../session/state.js'
import { howEnded } from '../session/status.js'

export async function retry(ctx: Context, agentId: string, onOutcome: OnOutcome): Promise<void> {
  checkReach(ctx.store, ctx.caller, agentId, 'retry')
  await visitAndFinish(ctx, agentId, onOutcome, (visit) =>
    visit.begin((options) => runAgain(visit, options), 'do not retry it again'),
  )
}

async function runAgain({ ctx, session, settled }: Visit, options: TurnOptions): Promise<Run> {
  refuseElsewhere(ctx.store, session.state)
  // An interrupted turn is continued: the user asked for its outcome.
  const wentOn = await continueLatest(ctx, session, { auto: false, settled, ...options })
  if (wentOn.outcome === 'ran' || wentOn.outcome === 'waiting') return wentOn.run
  if (wentOn.outcome === 'survivor') return session.state.run as Run
  refuseWithoutFailure(session.state)
  return continueTurn(ctx, session, false, options)
}

function refuseWithoutFailure(state: State): void {
  const status = state.run?.status
  if (state.state !== 'terminated' && (status === 'failed' || status === 'cancelled')) return
  const why = status === undefined ? 'it has had no turn yet' : `its latest turn ${status}`
  throw new SessionStateError(
    `there is nothing to retry for ${state.path}: ${state.state === 'terminated' ? `it ${howEnded(state)}` : why}`,
    {
      hint: `see what it did: substrat log ${wordOf(state)}`,
      facts: { agent_id: state.id },
    },
  )
}
