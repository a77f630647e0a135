import { clock, readableTime } from '../../clock.js'
import { continueLatest } from '../../dispatch/advance.js'
import { checkAllowOf } from '../../dispatch/allow.js'
import type { Context } from '../../dispatch/context.js'
import { withDrain } from '../../dispatch/deliveries.js'
import { NOT_AGAIN, postOnce } from '../../dispatch/effect.js'
import {
  findKeyedOutcome,
  findLaunchedRun,
  isOwnTurn,
  keyConflict,
  nextIdOfKey,
} from '../../dispatch/keyed-message.js'
import { nameOf, type OnOutcome, type Outcome, outcomeOf } from '../../dispatch/outcome.js'
import { runOwnTurn } from '../../dispatch/own-visit.js'
import { declarationOf, turnObstacle } from '../../dispatch/turn-obstacle.js'
import { startTurn } from '../../dispatch/turns.js'
import { viewReceiver, viewTurn } from '../../dispatch/view.js'
import { visit } from '../../dispatch/visit.js'
import { type ErrorCode, SubstratError } from '../../errors.js'
import { OPERATOR } from '../../format.js'
import { findPending } from '../../mail/inbox.js'
import { recipientOf } from '../../mail/post.js'
import type { SettleResult } from '../../recovery/settle.js'
import { askedOptions, messageOptions } from '../../schema/message.js'
import type { TurnResult } from '../../schema/output.js'
import { digestOf } from '../../session/ids.js'
import { openDurable, withAgent } from '../../session/load.js'
import type { Session } from '../../session/session.js'
import type { Run, State, Wait } from '../../session/state.js'
import { isInterrupted, isUnfinished, openWait } from '../../session/status.js'
import { randomUuid } from '../../start/random.js'
import type { Store } from '../../storage/store.js'
import { earlierMail, runEarlierMail, runStored } from './earlier-mail.js'
import { fateOf, isCutShort, notBegun, notTaken, refuseClosed } from './refusals.js'
import type { SendRequest } from './request.js'
import { supersededText } from './superseded.js'

/**
 * Calls `onOutcome` once, when the message's run has ended or the message is queued. Delivers other mail after that.
 */
export async function send(ctx: Context, request: SendRequest, onOutcome: OnOutcome): Promise<void> {
  const answered = answeredBefore(ctx, request)
  if (answered !== undefined) {
    onOutcome(answered)
    return
  }
  await checkAllowOf(ctx, request.agentId, request.allow)
  await withDrain(ctx, request.agentId, onOutcome, async (report) => {
    if (request.isQueued || request.notBefore !== null || request.kind !== 'request')
      report(queue(ctx, request))
    else await converseOrQueue(ctx, request, report)
  })
}

async function converseOrQueue(ctx: Context, request: SendRequest, tell: OnOutcome): Promise<void> {
  let isReported = false
  const onOutcome: OnOutcome = (outcome) => {
    isReported = true
    tell(outcome)
  }
  const waitMs = request.ifBusy === 'wait' ? ctx.bounds.waitMs : 0
  const end = clock.monotonic() + waitMs
  let result: 'mustQueue' | 'again' | undefined
  do {
    let hasAgent = false
    const leftMs = Math.max(0, end - clock.monotonic())
    const options = { waitMs: result === undefined ? waitMs : leftMs, continuesTurn: true, hasMessage: true }
    try {
      result = await visit(ctx, request.agentId, options, (session, settled) => {
        hasAgent = true
        return converse(ctx, session, settled, request, onOutcome)
      })
    } catch (error) {
      // Reported, the message is stored or has had its turn.
      if (isReported || request.ifBusy !== 'queue' || !isUntaken(error, hasAgent)) throw error
      result = 'mustQueue'
    }
  } while (result === 'again')
  if (result === 'mustQueue') onOutcome(queue(ctx, request))
}

/**
 * Whether the error proves that the log does not have the message. A lock that is lost during the visit proves nothing.
 */
function isUntaken(error: unknown, hasAgent: boolean): boolean {
  if (!(error instanceof SubstratError)) return false
  return REFUSALS.has(error.code) || (error.code === 'LOCKED' && !hasAgent)
}

const REFUSALS = new Set<ErrorCode>(['ON_HOLD', 'GATED', 'PROGRAM_ALIVE', 'OTHER_HOST'])

/**
 * `mustQueue`: an earlier turn is parked, and the caller must queue the message. `again`: another command comes first, and the caller
 * must take the agent once more.
 */
async function converse(
  ctx: Context,
  session: Session,
  settled: SettleResult,
  request: SendRequest,
  onOutcome: OnOutcome,
): Promise<'mustQueue' | 'again' | undefined> {
  const parked = openWait(session.state)
  const isOwn = isOwnTurn(session.state, request)
  if (isOwn && turnObstacle(ctx.store, session.state, 'message')?.kind === 'program') {
    onOutcome(outcomeOf(ctx, session, session.state.run as Run))
    return
  }
  refuseClosed(ctx.store, session.state, request)
  // Repeating a key continues its turn, as `resume` does, also where only a person may decide that. After too many
  // attempts without progress it needs `--retry`, so that a loop in a script does not continue the turn for ever.
  const { interruption } = session.state.recovery
  const isLeftToPerson = interruption !== null && !isInterrupted(session.state)
  const auto = !(isOwn && (isLeftToPerson || request.retry))
  let isStored = false
  const storeNow = (): void => {
    // Queued, the message would not overtake what was queued before.
    if (isOwn || request.ifBusy !== 'queue' || request.isFirst) return
    onOutcome(queue(ctx, request))
    isStored = true
  }
  const options = { auto, settled, isLast: () => false, onBegin: storeNow }
  const wentOn = await continueLatest(ctx, session, options)
  if (isStored) return runStored(ctx, session, wentOn)
  if (isOwn && wentOn.outcome !== 'nothing') {
    onOutcome(outcomeOf(ctx, session, session.state.run as Run))
    return
  }
  if (wentOn.outcome === 'ran' && isCutShort(wentOn.run))
    throw notTaken(session.state, wentOn.run, fateOf(ctx.store, session.state, request))
  if (wentOn.outcome === 'exhausted')
    ctx.reporter.note(
      'the interrupted turn was continued too often without progress; giving it up to run this message',
    )
  const whyNot = whyNotNow(ctx, session, request, parked, onOutcome)
  if (whyNot !== undefined) return whyNot === 'mustQueue' ? 'mustQueue' : undefined
  const earlier = earlierMail(session, request)
  noteSuperseded(ctx, session, earlier.size > 0)
  if (earlier.size > 0) {
    // Queued, the message would not replace the turn that is parked.
    if (parked === null) storeNow()
    if (isStored) return runStored(ctx, session)
    const result = await runEarlierMail(ctx, session, earlier, parked !== null)
    if (result === 'yields') return 'again'
    const whyNot = whyNotNow(ctx, session, request, parked, onOutcome)
    if (whyNot !== undefined) return whyNot === 'mustQueue' ? 'mustQueue' : undefined
    // The last of their turns was interrupted.
    if (result === 'left')
      throw notTaken(session.state, session.state.run as Run, fateOf(ctx.store, session.state, request))
  }
  await runMessage(ctx, session, request, onOutcome)
}

function runMessage(
  ctx: Context,
  session: Session,
  request: SendRequest,
  onOutcome: OnOutcome,
): Promise<void> {
  const { content, key } = request
  const turn = {
    ...messageOptions(request),
    prompt: { origin: 'operator' as const, content },
    digest: key === null ? null : digestOf(content),
    repeats: findLaunchedRun(ctx.store, session.state, key),
  }
  // A key makes it safe to repeat the command, which then continues the turn of the message.
  const not = key === null ? NOT_AGAIN : undefined
  return runOwnTurn(ctx, session, onOutcome, (options) => startTurn(ctx, session, turn, options), not)
}

/**
 * Why the message cannot begin now. `reported`: the outcome is reported. Throws if the agent is closed or a signal came. Only a turn that
 * was parked before the command is replaced: one that an earlier message or the interrupted turn asked for since is not.
 */
function whyNotNow(
  ctx: Context,
  session: Session,
  request: SendRequest,
  parkedBefore: Wait | null,
  onOutcome: OnOutcome,
): 'reported' | 'mustQueue' | undefined {
  const answered = findKeyedOutcome(ctx, session.state, request)
  if (answered !== undefined) {
    onOutcome(answered)
    return 'reported'
  }
  const { run } = session.state
  const isNew = openWait(session.state)?.at.seq !== parkedBefore?.at.seq
  if (run?.status === 'open' && (isNew || request.ifWaiting !== 'supersede')) {
    if (request.ifWaiting === 'queue') return 'mustQueue'
    onOutcome(notTakenByWaiting(ctx, session, run, request.ifWaiting))
    return 'reported'
  }
  const { requested } = ctx.shutdown
  if (requested !== undefined)
    throw notBegun(session.state, requested, fateOf(ctx.store, session.state, request))
  refuseClosed(ctx.store, session.state, request)
  return undefined
}

/** Says what the message replaces, once that is durable: without a free slot, the parked turn stays. */
function noteSuperseded(ctx: Context, session: Session, byEarlier: boolean): void {
  const wait = openWait(session.state)
  if (wait === null) return
  const record = session.recordAt(wait.at)
  const asks = record.kind === 'run.waiting' ? (record.asks ?? []) : []
  const text = supersededText(session.state, wait, asks, byEarlier ? 'your earlier message' : 'this message')
  session.onceDurable('run.cancelled', () => ctx.reporter.note(text))
}

/** The exit status and the wait describe the parked run, which is not the run of this message. */
function notTakenByWaiting(
  ctx: Context,
  session: Session,
  run: Run,
  ifWaiting: SendRequest['ifWaiting'],
): Outcome {
  const { result, failure } = outcomeOf(ctx, session, run)
  const isUndecided = ifWaiting === 'ask'
  const how = ifWaiting === 'supersede' ? '--if-waiting queue stores it behind that turn' : '--if-waiting'
  if (!isUndecided) ctx.reporter.note(`the message was not delivered: an earlier turn is waiting (${how})`)
  return { result: { ...result, run: null, reply: null }, failure, isUndecided }
}

/** Reads the outcome of a key without the lock, so that it is available while the agent is busy. */
function answeredBefore(ctx: Context, request: SendRequest): Outcome | undefined {
  if (request.key === null) return undefined
  const state = openDurable(ctx.store, request.agentId)?.state
  return state === undefined ? undefined : findKeyedOutcome(ctx, state, request)
}

/** The message is durable when it returns. A process that runs a turn of the agent delivers it after that turn. */
export function queue(ctx: Context, request: SendRequest): Outcome {
  const { store } = ctx
  const recipient = request.key === null ? withAgent(store, request.agentId, recipientOf) : undefined
  const state = recipient?.state ?? (openDurable(store, request.agentId)?.state as State)
  const taken = findKeyedOutcome(ctx, state, request) ?? beingAnswered(ctx, state, request)
  if (taken !== undefined) return taken
  const { content, kind, notBefore } = request
  // All that the output needs is read before the message is stored.
  const { messageId, result } = acknowledgement(store, state, request, recipient?.mailIds)
  const isNew = postOnce(
    store,
    {
      message_id: messageId,
      from: OPERATOR,
      from_path: OPERATOR,
      to: state.id,
      kind,
      content,
      not_before: notBefore?.at ?? null,
      clock: notBefore?.clock ?? null,
      ...askedOptions(request),
    },
    { recipient },
  )
  const stored = isNew ? undefined : findPending(store, state, messageId)
  if (stored !== undefined && stored.digest !== digestOf(content)) throw keyConflict(state, request)
  ctx.reporter.note(
    `queued as message ${messageId}; ${nameOf(state)} will run it ${whenDelivered(store, state, notBefore)}`,
  )
  return { result }
}

function acknowledgement(
  store: Store,
  state: State,
  { key }: SendRequest,
  mailIds: string[] | undefined,
): { messageId: string; result: TurnResult } {
  const messageId = key === null ? randomUuid() : nextIdOfKey(store, state, key)
  return { messageId, result: viewReceiver(store, state, messageId, mailIds) }
}

function whenDelivered(store: Store, state: State, notBefore: SendRequest['notBefore']): string {
  if (notBefore !== null) return `after ${readableTime(notBefore.at)}, at the next substrat deliver --all`
  const obstacle = turnObstacle(store, state, 'mail')
  switch (obstacle?.kind) {
    case 'wait':
      return 'after the turn that is waiting'
    case 'hold':
    case 'gate':
      return `once you ${obstacle.until} it`
    case 'host':
      return `at the next substrat deliver --all on the host ${obstacle.host}`
    case 'program':
      return declarationOf(state) === undefined ? 'once you resume it' : 'after its interrupted turn'
    default:
      return state.run?.status === 'open' ? 'after its current turn' : 'in its next turn'
  }
}

/** The outcome if the message is already in the log and its turn has not ended. */
function beingAnswered(ctx: Context, state: State, request: SendRequest): Outcome | undefined {
  const { run } = state
  if (!isOwnTurn(state, request) || !isUnfinished(state)) return undefined
  ctx.reporter.note(`this message was already sent with this key; its turn has not ended`)
  return { result: viewTurn(ctx.store, state, run, null) }
}
