/**
 * The operator's message as a turn of an agent that this process takes. An interrupted turn and the messages that were queued before
 * come first. If the message cannot have its turn now, it is queued or refused, as the request says.
 */
import { clock } from '../../clock.js'
import { continueLatest } from '../../dispatch/advance.js'
import { NOT_AGAIN } from '../../dispatch/effect.js'
import { findKeyedOutcome, isOwnTurn } from '../../dispatch/keyed-message.js'
import { outcomeOf } from '../../dispatch/outcome.js'
import type { Visit } from '../../dispatch/own-visit.js'
import { recordRefusal } from '../../dispatch/refusal.js'
import { turnObstacle } from '../../dispatch/turn-obstacle.js'
import { startTurn } from '../../dispatch/turns.js'
import { asksOf } from '../../dispatch/view.js'
import { type ErrorCode, SubstratError } from '../../errors.js'
import { interruptedRecords } from '../../recovery/settlement.js'
import { type MessageOptions, messageOptions } from '../../schema/message.js'
import { digestOf } from '../../session/ids.js'
import type { Run, Wait } from '../../session/state.js'
import { isInterrupted, isOutcomeUnknown, openWait } from '../../session/status.js'
import { earlierMail, runEarlierMail, runStored } from './earlier-mail.js'
import { parkedBehindCause, parkedBehindTexts } from './parked-behind.js'
import { queue } from './queue.js'
import { fateOf, isCutShort, notBegun, notTaken, refuseClosed } from './refusals.js'
import type { MessageRequest } from './request.js'
import { supersededText } from './superseded.js'

/**
 * `done`: the message is stored, refused or answered, or had its turn. `queue`: an earlier turn is parked, and the message must be
 * queued. `again`: another command comes first, and the agent must be taken once more.
 */
type Attempt = 'done' | 'queue' | 'again'

export async function converse(visit: Visit, request: MessageRequest): Promise<void> {
  const { ctx } = visit
  let waitMs = request.ifBusy === 'wait' ? ctx.bounds.waitMs : 0
  const end = clock.monotonic() + waitMs
  let result: Attempt
  do {
    let hasAgent = false
    try {
      result = await visit.open(
        () => {
          hasAgent = true
          return attempt(visit, request)
        },
        { waitMs, hasMessage: true },
      )
    } catch (error) {
      // Reported, the message is stored or has had its turn.
      if (visit.isReported || request.ifBusy !== 'queue' || !isUntaken(error, hasAgent)) throw error
      result = 'queue'
    }
    waitMs = Math.max(0, end - clock.monotonic())
  } while (result === 'again')
  if (result === 'queue') visit.report(queue(ctx, request))
}

/**
 * Whether the error proves that the log does not have the message. A lock that is lost during the visit proves nothing.
 */
function isUntaken(error: unknown, hasAgent: boolean): boolean {
  if (!(error instanceof SubstratError)) return false
  return REFUSALS.has(error.code) || (error.code === 'LOCKED' && !hasAgent)
}

const REFUSALS = new Set<ErrorCode>(['ON_HOLD', 'GATED', 'PROGRAM_ALIVE', 'OUTCOME_UNKNOWN', 'OTHER_HOST'])

async function attempt(visit: Visit, request: MessageRequest): Promise<Attempt> {
  const { ctx, session, settled } = visit
  const parked = openWait(session.state)
  const isOwn = isOwnTurn(session.state, request)
  const decides = request.ifUnknown === 'continue' && isOutcomeUnknown(session.state)
  const obstacle = turnObstacle(ctx.store, session.state, 'message')?.kind
  const { run: latest } = session.state
  if (obstacle === 'unknown' && !decides && latest?.status === 'open')
    session.append(interruptedRecords(latest))
  if (isOwn && (obstacle === 'program' || (obstacle === 'unknown' && !decides))) {
    visit.reportRun()
    return 'done'
  }
  if (obstacle !== 'unknown' || !decides) refuse(visit, request)
  // Repeating a key continues its turn as `resume` does, also after `suspend`. After too many attempts without progress
  // it needs `--retry`, so that a loop in a script does not continue the turn for ever.
  const { interruption } = session.state.recovery
  const isStopped = interruption !== null && !isInterrupted(session.state)
  const auto = !decides && !(isOwn && (isStopped || request.retry))
  let isStored = false
  const storeNow = (): void => {
    // Queued, the message would not overtake what was queued before.
    if (isOwn || request.ifBusy !== 'queue' || request.isFirst) return
    visit.report(queue(ctx, request))
    isStored = true
  }
  const wentOn = await continueLatest(ctx, session, { auto, settled, isLast: () => false, onBegin: storeNow })
  if (isStored) return runStored(visit, wentOn)
  if (isOwn && wentOn.outcome !== 'nothing') {
    visit.reportRun()
    return 'done'
  }
  if (wentOn.outcome === 'ran' && isCutShort(wentOn.run))
    throw notTaken(session.state, wentOn.run, fateOf(ctx.store, session.state, request))
  if (wentOn.outcome === 'exhausted')
    ctx.reporter.note(
      'the interrupted turn was continued too often without progress; giving it up to run this message',
    )
  const whyNot = whyNotNow(visit, request, parked)
  if (whyNot !== undefined) return whyNot
  const earlier = earlierMail(session, request)
  noteSuperseded(visit, earlier.size > 0)
  if (earlier.size > 0) {
    // Queued, the message would not replace the turn that is parked.
    if (parked === null) storeNow()
    if (isStored) return runStored(visit)
    const result = await runEarlierMail(ctx, session, earlier, parked !== null)
    if (result === 'yields') return 'again'
    const whyNot = whyNotNow(visit, request, parked)
    if (whyNot !== undefined) return whyNot
    // The last of their turns was interrupted.
    if (result === 'left')
      throw notTaken(session.state, session.state.run as Run, fateOf(ctx.store, session.state, request))
  }
  await begin(visit, request)
  return 'done'
}

function begin(visit: Visit, request: MessageRequest): Promise<void> {
  const { ctx, session } = visit
  const { content, key } = request
  const message = { prompt: { origin: 'operator' as const, content }, ...optionsOf(request) }
  // A key makes it safe to repeat the command, which then continues the turn of the message.
  const not = key === null ? NOT_AGAIN : undefined
  return visit.begin((turn) => startTurn(ctx, session, message, turn), not)
}

function optionsOf(request: MessageRequest): MessageOptions {
  return messageOptions({ ...request, digest: request.key === null ? null : digestOf(request.content) })
}

/**
 * Why the message cannot begin now. Undefined: it can. Throws if the agent is closed or a signal came. Only a turn that was parked
 * before the command is replaced: one that an earlier message or the interrupted turn asked for since is not.
 */
function whyNotNow(visit: Visit, request: MessageRequest, parkedBefore: Wait | null): Attempt | undefined {
  const { ctx, session } = visit
  const answered = findKeyedOutcome(ctx, session.state, request)
  if (answered !== undefined) {
    visit.report(answered)
    return 'done'
  }
  const { run } = session.state
  const isNew = openWait(session.state)?.at.seq !== parkedBefore?.at.seq
  if (run?.status === 'open' && (isNew || request.ifWaiting !== 'supersede')) {
    if (request.ifWaiting === 'queue') return 'queue'
    reportWaiting(visit, run, request)
    return 'done'
  }
  const { requested } = ctx.shutdown
  if (requested !== undefined)
    throw notBegun(session.state, requested, fateOf(ctx.store, session.state, request))
  refuse(visit, request)
  return undefined
}

/** Throws if the agent takes no message now. A message that is then queued was not refused. */
function refuse({ ctx, session }: Visit, request: MessageRequest): void {
  try {
    refuseClosed(ctx.store, session.state, request)
  } catch (error) {
    if (request.ifBusy === 'queue') throw error
    throw recordRefusal(ctx, session, error, optionsOf(request))
  }
}

/** Says what the message replaces, once that is durable: without a free slot, the parked turn stays. */
function noteSuperseded({ ctx, session }: Visit, byEarlier: boolean): void {
  const wait = openWait(session.state)
  if (wait === null) return
  const asks = asksOf(session, wait) ?? []
  const text = supersededText(session.state, wait, asks, byEarlier ? 'your earlier message' : 'this message')
  session.onceDurable('run.cancelled', () => ctx.reporter.note(text))
}

/** The exit status and the wait describe the parked run, which is not the run of this message. */
function reportWaiting(visit: Visit, run: Run, request: MessageRequest): void {
  const { ctx, session } = visit
  const { ifWaiting } = request
  const { result, failure } = outcomeOf(ctx, session, run)
  const isUndecided = ifWaiting === 'ask'
  const wait = openWait(session.state)
  if (!isUndecided && wait !== null) {
    for (const text of parkedBehindTexts(session, run, wait, ifWaiting)) ctx.reporter.note(text)
    const code = wait.kind === 'not_before' ? 'NOT_BEFORE' : 'WAITING'
    const refusal = new SubstratError(code, parkedBehindCause(session, run, wait))
    recordRefusal(ctx, session, refusal, optionsOf(request))
  }
  visit.report({ result: { ...result, run: null, reply: null }, failure, isUndecided })
}
