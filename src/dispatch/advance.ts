/** Continues interrupted turns and runs turns for pending mail. */
import { readableTime } from '../clock.js'
import { damagedMail, hasMoreMail, nextMail, removeDelivered, unknownMailOf } from '../mail/inbox.js'
import type { Delivery } from '../mail/message.js'
import { recordMissedSlots } from '../mail/schedules.js'
import { unknownMailError } from '../mail/unknown-mail.js'
import type { SettleResult } from '../recovery/settle.js'
import { interruptedRecords } from '../recovery/settlement.js'
import { messageOptions } from '../schema/message.js'
import type { NewRecord } from '../session/records.js'
import type { Session } from '../session/session.js'
import type { Run } from '../session/state.js'
import { isInterrupted, isUnfinished } from '../session/status.js'
import { isAwaitedBefore } from './arrivals.js'
import { fitsNow } from './budget-room.js'
import type { Context } from './context.js'
import { wasDelivered } from './keyed-message.js'
import { failureOf, wasStopped } from './outcome.js'
import type { TurnBudget } from './turn-budget.js'
import { type Obstacle, turnObstacle } from './turn-obstacle.js'
import { continueTurn, resumeTurn, startTurn } from './turns.js'
import { applyControls, visit } from './visit.js'

/**
 * `exhausted`: too many attempts made no progress; `resume` tries again, and a new message of the user replaces the
 * turn.
 * `survivor`: a program of the turn may still run. Once that is recorded, `resume` or `retry` continues beside a program of
 * this host, and never beside one of another host.
 * `held`: the agent is on hold or gated, or belongs to another host. `stopped`: a signal came, so no turn is started.
 */
export type ContinueResult =
  | { outcome: 'nothing' }
  | { outcome: 'ran'; run: Run }
  /** The turn waits for a decision or a time. */
  | { outcome: 'waiting'; run: Run }
  | { outcome: 'exhausted' | 'survivor' | 'held' | 'stopped' }

export interface ContinueOptions {
  /** True: the command continues the turn unasked, up to the limit of attempts. False: the user asked for it. */
  auto: boolean
  settled: SettleResult
  isLast(): boolean
  /** Called before the turn continues. */
  onBegin?: () => void
}

export async function continueLatest(
  ctx: Context,
  session: Session,
  options: ContinueOptions,
): Promise<ContinueResult> {
  const { state } = session
  const { isLast } = options
  // The parent poked the agent: that counts as a request to continue.
  const { isPoked } = state
  const auto = options.auto && !isPoked
  if (isPoked && state.run?.status !== 'open' && !isUnfinished(state)) return tryAgain(ctx, session, options)
  if (!(auto ? state.run?.status === 'open' || isInterrupted(state) : isUnfinished(state)))
    return { outcome: 'nothing' }
  const { run: found } = state
  const obstacle = turnObstacle(
    ctx.store,
    state,
    !options.auto ? 'resume' : isPoked ? 'poke' : 'continuation',
  )
  if (obstacle?.kind === 'wait' && !(await fitsNow(ctx, session, obstacle.wait)))
    return { outcome: 'waiting', run: found as Run }
  if (options.settled.hasSurvivor) return { outcome: 'survivor' }
  const whyNot = reasonToLeave(ctx, obstacle?.kind === 'wait' ? undefined : obstacle)
  if (whyNot !== undefined) {
    if (state.run?.status === 'open') session.append(interruptedRecords(state.run))
    return { outcome: whyNot }
  }
  const isOpen = state.run?.status === 'open'
  const started = state.run === null ? '' : ` (started ${readableTime(state.run.started_at)})`
  const why = found?.wait == null ? 'interrupted' : found.wait.kind === 'budget' ? 'waiting' : 'rate-limited'
  options.onBegin?.()
  ctx.reporter.note(`continuing the ${why} turn${started}`)
  const run = await (isOpen ? resumeTurn : continueTurn)(ctx, session, auto, { isLast })
  return { outcome: 'ran', run }
}

/** Repeats the prompt of a turn that failed or was cancelled. */
async function tryAgain(
  ctx: Context,
  session: Session,
  { isLast, onBegin }: ContinueOptions,
): Promise<ContinueResult> {
  const whyNot = reasonToLeave(ctx, turnObstacle(ctx.store, session.state, 'continuation'))
  if (whyNot !== undefined) return { outcome: whyNot }
  onBegin?.()
  ctx.reporter.note(`retrying the turn of ${session.state.path}`)
  return { outcome: 'ran', run: await continueTurn(ctx, session, false, { isLast }) }
}

function reasonToLeave(
  ctx: Context,
  obstacle: Obstacle | undefined,
): 'stopped' | 'held' | 'exhausted' | 'survivor' | undefined {
  if (ctx.shutdown.requested !== undefined) return 'stopped'
  if (obstacle === undefined) return undefined
  if (obstacle.kind === 'program') return 'survivor'
  return obstacle.kind === 'exhausted' ? 'exhausted' : 'held'
}

/** Visits the agent and runs all its due turns. Throws LOCKED if another process holds the agent for `waitMs`. */
export function visitAndAdvance(
  ctx: Context,
  agentId: string,
  { waitMs, budget }: { waitMs: number; budget: TurnBudget },
): Promise<number> {
  return visit(ctx, agentId, { waitMs, continuesTurn: true }, (session, settled) =>
    advance(ctx, session, settled, budget),
  )
}

/** Continues the interrupted turn, then runs turns for pending mail. Returns the number of turns. */
export async function advance(
  ctx: Context,
  session: Session,
  settled: SettleResult,
  budget: TurnBudget,
): Promise<number> {
  const wentOn = await continueLatest(ctx, session, {
    auto: true,
    settled,
    isLast: () => hasNoMoreTurns(ctx, session),
  })
  if (wentOn.outcome === 'ran' && wasStopped(wentOn.run)) return 1
  const newer = unknownMailError(unknownMailOf(session))
  if (newer !== undefined) throw newer
  if (wentOn.outcome !== 'ran') return takeMail(ctx, session, budget)
  budget.spend()
  return 1 + (await takeMail(ctx, session, budget))
}

/** A part of the mail, before a turn of the command's own. `turn`: with `message`, the first turn replaces one that is parked. */
export interface MailPart {
  ids: ReadonlySet<string>
  turn: 'mail' | 'message'
}

/** Runs turns for due mail until none is left or the budget is spent. Returns the number of turns. */
export async function takeMail(
  ctx: Context,
  session: Session,
  budget: TurnBudget,
  part?: MailPart,
): Promise<number> {
  let turns = 0
  const newer = unknownMailError(unknownMailOf(session))
  if (newer !== undefined) ctx.reporter.note(newer.message)
  while (newer === undefined && budget.left > 0) {
    applyControls(session)
    if (!mayBegin(ctx, session, part?.turn)) break
    if (part === undefined && session.state.schedules !== undefined) recordMissedSlots(session)
    const messages = nextMail(session, part?.ids)
    const [first] = messages
    if (first === undefined) break
    if (isAwaitedBefore(session.store, session.id, first.created_at)) {
      session.yields = true
      break
    }
    if (wasDelivered(session.store, session.state, first)) {
      ctx.reporter.note(
        `dropping message ${first.message_id}: a message with the same key was delivered before`,
      )
      session.removeMail(first.message_id)
      continue
    }
    noteTaken(ctx, session, messages)
    budget.spend()
    const message = {
      prompt: { origin: 'mail' as const, mails: messages.map(deliveredFields), slots: first.slots },
      ...messageOptions(first),
    }
    const run = await startTurn(ctx, session, message, {
      isLast: () => part === undefined && (budget.left <= 0 || hasNoMoreTurns(ctx, session)),
    })
    removeDelivered(session)
    turns += 1
    const failure = failureOf(session.state, run, ctx.shutdown.requested)
    if (failure !== undefined) ctx.reporter.note(failure.message)
    if (wasStopped(run) || run.status === 'open') break
  }
  if (part !== undefined) return turns
  for (const { path } of damagedMail(ctx.store, session.state, session.mailIds))
    ctx.reporter.note(`skipping a damaged message: ${path}`)
  return turns
}

export function deliveredFields(
  message: Delivery,
): Omit<NewRecord<'mail.delivered'>, 'kind' | 'run_id' | 'call_id'> {
  const { message_id, from, from_path, kind, reply_to, content, created_at, actor } = message
  const { reminder_id, schedule_id } = message
  return {
    message_id,
    from,
    ...(from_path === from ? {} : { from_path }),
    mail_kind: kind as NewRecord<'mail.delivered'>['mail_kind'],
    ...(reply_to === null ? {} : { reply_to }),
    content,
    sent_at: created_at,
    ...(reminder_id === undefined ? {} : { reminder_id }),
    ...(schedule_id === undefined ? {} : { schedule_id }),
    ...(actor === undefined ? {} : { actor }),
  }
}

function noteTaken(ctx: Context, { state }: Session, messages: Delivery[]): void {
  const [{ kind, message_id, from_path, created_at }] = messages as [Delivery]
  const what = messages.length === 1 ? `${kind} ${message_id}` : `${messages.length} messages`
  const sentAt = readableTime(created_at)
  ctx.reporter.note(`delivering ${what} from ${from_path} to ${state.path} (sent ${sentAt})`)
}

/** Whether no further turn will run in this visit. */
export function hasNoMoreTurns(ctx: Context, session: Session): boolean {
  return !mayBegin(ctx, session) || !hasMoreMail(session)
}

function mayBegin(
  { shutdown, store }: Context,
  { state }: Session,
  turn: MailPart['turn'] = 'mail',
): boolean {
  const isOpen = turn === 'mail' && state.run?.status === 'open'
  const isFree = !isOpen && turnObstacle(store, state, turn) === undefined
  return shutdown.requested === undefined && isFree
}
