/** `resume`: the provider restored, the hold lifted, and whatever is pending gone on with, because a person asked for it. */
import { SessionStateError } from '../errors.js'
import { type Settled, settingsOf } from '../recovery/settle.js'
import type { Session } from '../session/session.js'
import { checkReach } from './caller.js'
import type { Context } from './context.js'
import { withDrain } from './drain.js'
import { goOn, nothingWaits, takeMail } from './go-on.js'
import { nameOf, type Outcome, outcomeOf, wasStopped, wordOf } from './outcome.js'
import { viewTurn } from './view.js'
import { visit } from './visit.js'

/** `onOutcome` is called once: when the interrupted turn has ended; where there was none, when nothing waits any more. */
export async function resume(
  ctx: Context,
  agentId: string,
  onOutcome: (outcome: Outcome) => void,
): Promise<void> {
  checkReach(ctx.store, ctx.caller, agentId, 'resume')
  await withDrain(ctx, agentId, onOutcome, (told) =>
    visit(ctx, agentId, { waitMs: ctx.bounds.waitMs, goesOn: true }, (session, settled) =>
      resumeSession(ctx, session, settled, told),
    ),
  )
}

async function resumeSession(
  ctx: Context,
  session: Session,
  settled: Settled,
  onOutcome: (outcome: Outcome) => void,
): Promise<void> {
  refuseTerminated(session)
  await ctx.providers.check(session.state.provider_name, settingsOf(session))
  if (session.state.hold) session.append([{ kind: 'session.configured', hold: false }])
  const isLast = (): boolean => nothingWaits(ctx, session)
  const wentOn = await goOn(ctx, session, { auto: false, settled, isLast })
  const hasOutcome = wentOn.outcome === 'ran' || wentOn.outcome === 'waiting'
  if (hasOutcome) onOutcome(outcomeOf(ctx, session, wentOn.run))
  if (wentOn.outcome === 'ran' && wasStopped(wentOn.run)) return
  await takeMail(ctx, session, ctx.deliveries.budget)
  if (!hasOutcome) onOutcome({ result: viewTurn(ctx.store, session.state, null, null) })
}

function refuseTerminated({ state }: Session): void {
  if (state.state !== 'terminated') return
  throw new SessionStateError(`${nameOf(state)} is terminated: there is nothing to resume`, {
    hint: `read what it said: substrat log ${wordOf(state)}; or start another: substrat spawn`,
    facts: { agent_id: state.id, state: state.state },
  })
}
