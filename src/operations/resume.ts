/** `resume`: lifts a hold, continues the interrupted turn, and runs pending mail. */

import { type ContinueResult, continueLatest, hasNoMoreTurns, takeMail } from '../dispatch/advance.js'
import { checkReach } from '../dispatch/caller.js'
import type { Context } from '../dispatch/context.js'
import { type OnOutcome, wordOf } from '../dispatch/outcome.js'
import { type Visit, visitAndFinish } from '../dispatch/own-visit.js'
import { seed } from '../dispatch/seed.js'
import { refuseElsewhere, turnObstacle } from '../dispatch/turn-obstacle.js'
import { continueTurn, readyProvider } from '../dispatch/turns.js'
import { viewTurn } from '../dispatch/view.js'
import { SessionStateError } from '../errors.js'
import { hasDueMail } from '../mail/inbox.js'
import type { Provider } from '../provider/contract.js'
import { stopKeptServerOrThrow } from '../provider/kept-server.js'
import { checkWorkspace } from '../provider/workspace.js'
import type { Session } from '../session/session.js'
import type { Run, State } from '../session/state.js'
import { howEnded, isUnfinished, openWait } from '../session/status.js'
import { otherHost, placeHere } from '../session/workspace-host.js'

export interface ResumeOptions {
  /** Start a new session of the agent program from the conversation in the log. */
  reseed: boolean
}

/** Calls `onOutcome` once: when the interrupted turn has ended or, if there was none, when no mail is pending. */
export async function resume(
  ctx: Context,
  agentId: string,
  { reseed }: ResumeOptions,
  onOutcome: OnOutcome,
): Promise<void> {
  checkReach(ctx.store, ctx.caller, agentId, 'resume')
  await visitAndFinish(ctx, agentId, onOutcome, (visit) => resumeIn(visit, reseed))
}

async function resumeIn(visit: Visit, reseed: boolean): Promise<void> {
  const { ctx, session } = visit
  refuseTerminated(session)
  const isElsewhere = otherHost(ctx.store, session.state) !== undefined
  if (!reseed) refuseElsewhere(ctx.store, session.state)
  else if (isElsewhere) checkWorkspace(session.state.workspace)
  // Before anything changes: a hold stays, and no new session begins.
  if (turnObstacle(ctx.store, session.state, 'resume')?.kind === 'program')
    return visit.begin(async () => session.state.run as Run)
  // An idle agent needs no provider: its API key may be missing.
  if (reseed || hasWork(session)) {
    const provider = await readyProvider(ctx, session, isUnfinished(session.state) ? session.state.run : null)
    if (reseed) refuseSeed(session, provider.kind)
  }
  const wasOnHold = session.state.hold
  if (wasOnHold) {
    session.append([{ kind: 'session.configured', hold: false }])
    ctx.reporter.note(`${session.state.path} is no longer on hold`)
  }
  const isLast = (): boolean => hasNoMoreTurns(ctx, session)
  if (reseed) {
    await stopKeptServerOrThrow(session, (text) => ctx.reporter.note(text))
    const { state } = session
    const options = { continuesTurn: isUnfinished(state) || state.isPoked || isLost(state) }
    seed(session, options, isElsewhere ? placeHere(ctx.store) : {})
  }
  const wentOn = reseed ? await goOnSeeded(visit, isLast) : await continueAsked(visit, isLast)
  if (wentOn.outcome === 'ran' || wentOn.outcome === 'waiting' || wentOn.outcome === 'survivor')
    return visit.begin(async () => session.state.run as Run)
  if (!wasOnHold && !hasWork(session)) ctx.reporter.note(`${session.state.path} has no turn to continue`)
  await takeMail(ctx, session, ctx.deliveries.budget)
  visit.report({ result: viewTurn(ctx.store, session.state, null, null) })
}

/** Retries a turn that failed with `session_lost`; otherwise continues the latest turn. */
function goOnSeeded(visit: Visit, isLast: () => boolean): Promise<ContinueResult> {
  const { ctx, session } = visit
  if (!isLost(session.state)) return continueAsked(visit, isLast)
  return continueTurn(ctx, session, false, { isLast }).then((again) => ({ outcome: 'ran', run: again }))
}

function continueAsked({ ctx, session, settled }: Visit, isLast: () => boolean): Promise<ContinueResult> {
  return continueLatest(ctx, session, { auto: false, settled, isLast })
}

/** Whether a turn may follow. A parked turn only tells what it waits for, and no mail runs before it. */
function hasWork({ store, state, mailIds }: Session): boolean {
  if (turnObstacle(store, state, 'resume')?.kind === 'wait') return false
  return isUnfinished(state) || state.isPoked || hasDueMail(store, state, mailIds)
}

function isLost({ run }: State): boolean {
  return run?.error?.type === 'session_lost'
}

function refuseSeed({ state }: Session, kind: Provider['kind']): void {
  const facts = { agent_id: state.id }
  if (kind === 'model') {
    throw new SessionStateError(
      `${state.path} has no session to reseed: its model receives the conversation from the log`,
      {
        hint: `continue it: substrat resume ${wordOf(state)}`,
        facts,
      },
    )
  }
  const wait = openWait(state)
  if (wait === null || wait.kind === 'not_before') return
  throw new SessionStateError(
    `${state.path} is waiting for a decision that a new session would not know about`,
    {
      hint: `decide first, or stop the turn: substrat cancel ${wordOf(state)}`,
      facts,
    },
  )
}

function refuseTerminated({ state }: Session): void {
  if (state.state !== 'terminated') return
  throw new SessionStateError(`${state.path} ${howEnded(state)} and cannot be resumed`, {
    hint: `read its log: substrat log ${wordOf(state)}; or start another agent: substrat spawn`,
    facts: { agent_id: state.id, state: state.state },
  })
}
