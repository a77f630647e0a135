/**
 * A visit to an agent: lock, repair, settle, work, snapshot, unlock. Every command that writes to an existing agent
 * goes through here.
 *
 * On disk after a crash: the marker, and the records that the work had made durable. The next visit settles them.
 */
import { readableTime } from '../clock.js'
import { SubstratError } from '../errors.js'
import { limits } from '../limits.js'
import { controlRecords, removeDelivered, syncBeforeForgetting } from '../mail/inbox.js'
import { slotPool } from '../provider/slots.js'
import { type SettleResult, settle } from '../recovery/settle.js'
import { restRecords } from '../recovery/settlement.js'
import { withSkippedSlots } from '../schedule/lifted.js'
import { stoppedText } from '../session/busy.js'
import { openForAppend, type Session } from '../session/session.js'
import type { Run, State } from '../session/state.js'
import { isAtWork, isInterrupted } from '../session/status.js'
import type { Store } from '../storage/store.js'
import { beginWait } from '../tree/waits.js'
import { callPolicy } from '../turn/call-policy.js'
import { inOrderOfArrival, passOn } from './arrivals.js'
import type { Context } from './context.js'
import { limitKeptServers } from './kept-servers.js'
import { flushOutbox } from './outbox.js'
import { wasStopped } from './outcome.js'
import { needsVisit } from './pending-visits.js'
import { lastKnownPath } from './read-state.js'
import { toolboxOf } from './toolbox.js'

export interface VisitOptions {
  waitMs: number
  /** True: the work continues an open run that it finds. False: settling marks that run as interrupted. */
  continuesTurn: boolean
  /** The work ends the run, so a tool that was cut short needs no decision of a person. */
  endsRun?: boolean
  /** The command waits with a message, which comes before messages that are stored meanwhile. */
  hasMessage?: boolean
}

export async function visit<T>(
  ctx: Context,
  agentId: string,
  options: VisitOptions,
  work: (session: Session, settled: SettleResult) => Promise<T>,
): Promise<T> {
  const wait = await holdUpCaller(ctx, agentId)
  try {
    return await withSession(ctx, agentId, options, work)
  } finally {
    await wait.release()
  }
}

async function withSession<T>(
  ctx: Context,
  agentId: string,
  options: VisitOptions,
  work: (session: Session, settled: SettleResult) => Promise<T>,
): Promise<T> {
  const unblocked = noteStopped(ctx, agentId, options.waitMs)
  const named = ctx.reporter.wait(() => waitingFor(ctx.store, agentId))
  const taken = (): void => {
    unblocked()
    named()
  }
  const { store, command } = ctx
  const { waitMs, hasMessage } = options
  const slots = hasMessage === true ? slotPool(ctx.bounds.slotsMax) : undefined
  const open = (waitMs: number): Promise<Session> => openForAppend(store, agentId, { command, waitMs, slots })
  const opening =
    hasMessage === true ? inOrderOfArrival(store, agentId, { command, waitMs }, open) : open(waitMs)
  const session = await opening.finally(taken)
  const recheckInbox = options.continuesTurn && options.endsRun !== true
  return finishAfter(ctx, session, recheckInbox, async () => {
    const note = (text: string): void => ctx.reporter.note(text)
    await followMove(ctx, session, options)
    const { policy: known } = toolboxOf(ctx, session)
    // No rule runs a call of a turn that the work ends.
    const policy = options.endsRun === true ? known : callPolicy(session, known)
    const { providers, tools } = ctx
    const settled = await settle(session, {
      providers,
      policy,
      unknownTool: options.endsRun === true ? 'continue' : tools.unknownTool,
      continuesTurn: options.continuesTurn,
      takesOver: tools.takesOver === true,
      waitMs: ctx.bounds.waitMs,
      givesUp: options.endsRun === true,
      note,
    })
    // Send the outbox of a dead process first. If the work continues the interrupted turn, its error must not be sent.
    if (!options.continuesTurn || !isInterrupted(session.state)) await flushOutbox(ctx, session, true)
    // Pending controls apply to the work that follows.
    applyControls(session)
    return work(session, settled)
  })
}

/** An agent that moved with a higher one is open again if that agent is. */
async function followMove(ctx: Context, session: Session, { waitMs }: VisitOptions): Promise<void> {
  if (session.state.moved === undefined) return
  // Loaded only here: few agents move.
  const { followTop } = await import('./arrive.js')
  const { command, reporter } = ctx
  await followTop(session, { command, waitMs, note: (text) => reporter.note(text) })
}

/** A stopped process does not end its turn. A command that waits for it says so soon, also without a terminal. */
function noteStopped({ store, reporter }: Context, agentId: string, waitMs: number): () => void {
  if (waitMs < STOPPED_MS) return () => undefined
  const timer = setTimeout(() => {
    try {
      const text = stoppedText(store, agentId)
      if (text !== undefined) reporter.note(text)
    } catch {
      // The store cannot be read now. The wait itself reports that.
    }
  }, STOPPED_MS)
  return () => clearTimeout(timer)
}

const STOPPED_MS = 500

function waitingFor(store: Store, agentId: string): string {
  const holder = store.holder(agentId)
  const by = holder && `: held by pid ${holder.pid} since ${readableTime(holder.since)} (${holder.command})`
  return `waiting for ${lastKnownPath(store, agentId) ?? agentId}${by ?? ''}`
}

/**
 * How long a delivery waits for the agent's lock. A holder with a turn reads the inbox after it; any other does not.
 */
export function deliveryWaitMs(state: State | undefined): number {
  return state !== undefined && isAtWork(state) ? 0 : limits.shortLockWaitMs
}

/** Applies pending controls, which need no turn. */
export function applyControls(session: Session): void {
  if (session.state.state === 'terminated') return
  for (let records = controlRecords(session); records.length > 0; records = controlRecords(session)) {
    syncBeforeForgetting(session, records.length)
    session.append(records)
    removeDelivered(session)
  }
}

/**
 * Runs the work in an open session and closes the session. `recheckInbox`: after a turn, read the inbox again once the
 * lock is released, unless a command stopped that turn.
 */
export async function finishAfter<T>(
  ctx: Context,
  session: Session,
  recheckInbox: boolean,
  work: () => Promise<T>,
): Promise<T> {
  let hadTurn = false
  session.outboundRules = ctx.outbound.rules
  session.onLifted = (before, records) => withSkippedSlots(before, records)
  session.onRecord((record) => {
    hadTurn ||= record.kind.startsWith('run.')
    ctx.reporter.record(record, session.id, session.state.path)
  })
  const result = await toItsEnd(ctx, session, work).catch((error) => {
    // The previous holder yielded its inbox to us; our own message was refused, so deliver the rest.
    if (session.arrivedAt !== undefined && !hadTurn) ctx.deliveries.lookAgain(session.id)
    wakeOutbound(ctx, session)
    throw error
  })
  wakeOutbound(ctx, session)
  // The session is closed. A failure from here on must not close it again: its file descriptors may be reused by now.
  if (hadTurn) await limitKeptServers(ctx)
  const isPassedOn = session.yields && (await passOn(ctx.store, session.id))
  if (isPassedOn) ctx.deliveries.markHandled(session.id)
  else if (recheckInbox && (session.yields || (hadTurn && !wasStopped(session.state.run as Run))))
    ctx.deliveries.lookAgain(session.id, session.state)
  return result
}

/** Sends the messages that the session has queued, or that an earlier command could not send. */
function wakeOutbound(ctx: Context, { id, state }: Session): void {
  if (state.outbound !== undefined) ctx.outbound.wake(id)
}

async function toItsEnd<T>(ctx: Context, session: Session, work: () => Promise<T>): Promise<T> {
  try {
    const result = await work()
    await flushOutbox(ctx, session, true)
    // A call that was repeated may have found its reply in the inbox. No marker leads a later command to that file.
    removeDelivered(session)
    session.appendLast(restRecords(session.state, 'idle'))
    await session.close((state) => needsVisit(ctx.store, state))
    return result
  } catch (error) {
    if (isStorageFailure(error)) await session.abandon()
    else await closeAfter(ctx, session)
    throw error
  }
}

/** Closes the session after an error. That error is reported, so a failure to close is ignored. */
async function closeAfter(ctx: Context, session: Session): Promise<void> {
  try {
    session.appendLast(restRecords(session.state, 'idle'))
    await session.close((state) => needsVisit(ctx.store, state))
  } catch {
    await session.abandon()
  }
}

function isStorageFailure(error: unknown): boolean {
  return (
    !(error instanceof SubstratError) ||
    ['STORAGE_FAILED', 'SYNC_FAILED', 'LOCKED', 'UNEXPECTED'].includes(error.code)
  )
}

/**
 * A command in a tool of an agent holds up that agent's turn while it works on another agent. This counts as a wait of
 * the one agent for the other, even without a request. Throws DEADLOCK if it would close a cycle.
 */
export async function holdUpCaller(ctx: Context, agentId: string): Promise<{ release(): Promise<void> }> {
  const { store, caller, command } = ctx
  if (caller === null) return { release: async () => undefined }
  return beginWait(store, caller, agentId, command)
}
