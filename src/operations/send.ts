import { readableTime } from '../clock.js'
import { continueLatest } from '../dispatch/advance.js'
import { checkAllow } from '../dispatch/allow.js'
import type { Context } from '../dispatch/context.js'
import { withDrain } from '../dispatch/deliveries.js'
import {
  findKeyedOutcome,
  findLaunchedRun,
  isOwnTurn,
  keyConflict,
  nextIdOfKey,
} from '../dispatch/keyed-message.js'
import { nameOf, type OnOutcome, type Outcome, outcomeOf, wordOf } from '../dispatch/outcome.js'
import { runOwnTurn } from '../dispatch/own-turn.js'
import type { SendRequest } from '../dispatch/send-request.js'
import { supersededText } from '../dispatch/superseded.js'
import { type Closure, declarationOf, refuseElsewhere, turnObstacle } from '../dispatch/turn-obstacle.js'
import { startTurn } from '../dispatch/turns.js'
import { viewTurn } from '../dispatch/view.js'
import { visit } from '../dispatch/visit.js'
import { type ErrorCode, SessionStateError, SubstratError } from '../errors.js'
import { OPERATOR } from '../format.js'
import { findPending } from '../mail/inbox.js'
import { post, recipientOf } from '../mail/post.js'
import { type SettleResult, settingsOf } from '../recovery/settle.js'
import { digestOf } from '../session/ids.js'
import { openDurable, withAgent } from '../session/load.js'
import type { Session } from '../session/session.js'
import type { Run, State } from '../session/state.js'
import { howEnded, isInterrupted, isUnfinished, openWait } from '../session/status.js'
import { troubleOf } from '../session/trouble.js'
import { randomUuid } from '../start/random.js'
import type { Store } from '../storage/store.js'
import type { StopSignal } from '../turn/stop.js'

/**
 * Calls `onOutcome` once, when the message's run has ended or the message is queued. Delivers other mail after that.
 */
export async function send(ctx: Context, request: SendRequest, onOutcome: OnOutcome): Promise<void> {
  const answered = answeredBefore(ctx, request)
  if (answered !== undefined) {
    onOutcome(answered)
    return
  }
  await withDrain(ctx, request.agentId, onOutcome, async (told) => {
    if (request.isQueued || request.notBefore !== null || request.kind !== 'request')
      told(queue(ctx, request))
    else await converseOrQueue(ctx, request, told)
  })
}

async function converseOrQueue(ctx: Context, request: SendRequest, onOutcome: OnOutcome): Promise<void> {
  const waitMs = request.ifBusy === 'wait' ? ctx.bounds.waitMs : 0
  let hasAgent = false
  let isLeft = false
  try {
    await visit(
      ctx,
      request.agentId,
      { waitMs, goesOn: true, hasMessage: true },
      async (session, settled) => {
        hasAgent = true
        isLeft = (await converse(ctx, session, settled, request, onOutcome)) === 'left'
      },
    )
  } catch (error) {
    if (request.ifBusy !== 'queue' || !isUntaken(error, hasAgent)) throw error
    isLeft = true
  }
  if (isLeft) onOutcome(queue(ctx, request))
}

/**
 * Whether the error proves that the log does not have the message. A lock that is lost during the visit proves nothing.
 */
function isUntaken(error: unknown, hasAgent: boolean): boolean {
  if (!(error instanceof SubstratError)) return false
  return REFUSALS.has(error.code) || (error.code === 'LOCKED' && !hasAgent)
}

const REFUSALS = new Set<ErrorCode>(['ON_HOLD', 'GATED', 'PROGRAM_ALIVE', 'OTHER_HOST'])

/** `left`: an earlier turn is parked, and the caller must queue the message. */
async function converse(
  ctx: Context,
  session: Session,
  settled: SettleResult,
  request: SendRequest,
  onOutcome: OnOutcome,
): Promise<'left' | undefined> {
  const isOwn = isOwnTurn(session.state, request)
  if (isOwn && turnObstacle(ctx.store, session.state, 'message')?.kind === 'program') {
    onOutcome(outcomeOf(ctx, session, session.state.run as Run))
    return
  }
  refuseClosed(ctx.store, session.state)
  // Repeating a key continues its turn, as `resume` does, also where only a person may decide that. After too many
  // attempts without progress it needs `--retry`, so that a loop in a script does not continue the turn for ever.
  const { interruption } = session.state.recovery
  const isLeftToPerson = interruption !== null && !isInterrupted(session.state)
  const auto = !(isOwn && (isLeftToPerson || request.retry))
  const wentOn = await continueLatest(ctx, session, { auto, settled, isLast: () => false })
  if (isOwn && wentOn.outcome !== 'nothing') {
    onOutcome(outcomeOf(ctx, session, session.state.run as Run))
    return
  }
  if (wentOn.outcome === 'ran' && isCutShort(wentOn.run)) throw notTaken(session.state, wentOn.run)
  if (wentOn.outcome === 'exhausted')
    ctx.reporter.note(
      'the interrupted turn was continued too often without progress; giving it up to run this message',
    )
  const answered = findKeyedOutcome(ctx, session.state, request)
  if (answered !== undefined) {
    onOutcome(answered)
    return
  }
  if (session.state.run?.status === 'open' && request.ifWaiting !== 'supersede') {
    if (request.ifWaiting === 'queue') return 'left'
    onOutcome(notTakenByWaiting(ctx, session, session.state.run, request.ifWaiting === 'ask'))
    return
  }
  const { requested } = ctx.shutdown
  if (requested !== undefined) throw notBegun(session.state, requested)
  refuseClosed(ctx.store, session.state)
  const { content, key, turnTimeoutMs } = request
  const turn = {
    prompt: { origin: 'operator' as const, content },
    key,
    digest: key === null ? null : digestOf(content),
    turn_timeout_ms: turnTimeoutMs,
    steps_max: request.stepsMax,
    allow: request.allow,
    repeats: findLaunchedRun(ctx.store, session.state, key),
  }
  if (request.allow.length > 0)
    checkAllow(
      ctx,
      await ctx.providers.check(session.state.provider_name, settingsOf(session)),
      request.allow,
    )
  noteSuperseded(ctx, session)
  await runOwnTurn(ctx, session, onOutcome, (options) => startTurn(ctx, session, turn, options))
}

/** Says what the message replaces, once that is durable: without a free slot, the parked turn stays. */
function noteSuperseded(ctx: Context, session: Session): void {
  const wait = openWait(session.state)
  if (wait === null) return
  const record = session.recordAt(wait.at)
  const asks = record.kind === 'run.waiting' ? (record.asks ?? []) : []
  const text = supersededText(session.state, wait, asks)
  session.onceDurable('run.cancelled', () => ctx.reporter.note(text))
}

/** The exit status and the wait describe the parked run, which is not the run of this message. */
function notTakenByWaiting(ctx: Context, session: Session, run: Run, isUndecided: boolean): Outcome {
  const { result, failure } = outcomeOf(ctx, session, run)
  if (!isUndecided)
    ctx.reporter.note('the message was not delivered: an earlier turn is waiting (--if-waiting)')
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
  const { key, content, kind, notBefore } = request
  const messageId = key === null ? randomUuid() : nextIdOfKey(store, state, key)
  const isNew = post(
    store,
    {
      message_id: messageId,
      from: OPERATOR,
      from_path: OPERATOR,
      to: state.id,
      kind,
      content,
      key,
      not_before: notBefore?.at ?? null,
      clock: notBefore?.clock ?? null,
      turn_timeout_ms: request.turnTimeoutMs,
    },
    { recipient },
  )
  const stored = isNew ? undefined : findPending(store, state, messageId)
  if (stored !== undefined && stored.digest !== digestOf(content)) throw keyConflict(state, request)
  ctx.reporter.note(
    `queued as message ${messageId}; ${nameOf(state)} will run it ${whenDelivered(store, state, notBefore)}`,
  )
  return { result: viewTurn(store, state, null, null) }
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

function refuseClosed(store: Store, state: State): void {
  refuseElsewhere(store, state)
  const obstacle = turnObstacle(store, state, 'message')
  if (obstacle?.kind === 'terminated') throw terminatedError(state)
  if (obstacle?.kind === 'hold' || obstacle?.kind === 'gate') throw closedError(state, obstacle)
  if (obstacle?.kind === 'program') throw besideError(state)
}

/** A message does not decide about the program. Its turn could work beside it in the same directory and native session. */
function besideError(state: State): SubstratError {
  const { run, id } = state
  const word = wordOf(state)
  const declaration = declarationOf(state)
  const next =
    declaration === undefined
      ? `make sure that it has ended, then: substrat resume ${word}`
      : `recover it on that host: substrat recover --all; or, if that host is down: ${declaration}`
  const why = troubleOf(run as Run)
  return new SubstratError(
    'PROGRAM_ALIVE',
    `${nameOf(state)} has an interrupted turn: ${why}; the message was not stored`,
    {
      hint: `${next}; or queue the message: --queue`,
      facts: { agent_id: id, run_id: (run as Run).run_id, reason: (run as Run).reason },
    },
  )
}

function closedError(state: State, { code, is, until, next }: Closure): SubstratError {
  return new SubstratError(code, `${nameOf(state)} is ${is} and will not run until you ${until} it`, {
    hint: `${until} it: ${next}; or queue the message: --queue`,
    facts: { agent_id: state.id },
  })
}

function terminatedError(state: State): SubstratError {
  return new SessionStateError(`${nameOf(state)} ${howEnded(state)} and takes no messages`, {
    hint: `read its log: substrat log ${wordOf(state)}; or start another agent: substrat spawn`,
    facts: { agent_id: state.id, state: state.state },
  })
}

/** The earlier turn was interrupted by a person or a dying program, not by a signal to substrat (see `notBegun`). */
function isCutShort({ status, reason }: Run): boolean {
  return status === 'interrupted' && reason !== 'shutdown'
}

function notTaken(state: State, run: Run): SubstratError {
  const what =
    run.reason === 'suspended' ? 'was suspended' : `could not end its earlier turn (${troubleOf(run)})`
  const message = `${nameOf(state)} ${what} before the message was delivered; the message was not stored`
  return new SubstratError('INTERRUPTED', message, {
    hint: `send it again: substrat send ${wordOf(state)} '…'`,
    facts: { agent_id: state.id },
  })
}

function notBegun(state: State, signal: StopSignal): SubstratError {
  const message = `stopped by ${signal} before the message was delivered; the message was not stored`
  return new SubstratError(`STOPPED_${signal}`, message, {
    hint: `send it again: substrat send ${wordOf(state)} '…'`,
    facts: { agent_id: state.id },
  })
}
