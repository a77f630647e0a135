/**
 * A visit to an agent: lock, repair, settle, the work, rest, snapshot, unlock. Every command that writes goes through
 * here.
 *
 * What is on disk if we die inside: the marker, and whatever records the work had made durable; the next visit settles
 * it.
 */
import { SubstratError } from '../errors.js'
import { limits } from '../limits.js'
import { controlRecords, removeDelivered, syncBeforeForgetting } from '../mail/inbox.js'
import { type SettleResult, settle } from '../recovery/settle.js'
import { restRecords } from '../recovery/settlement.js'
import { openForAppend, type Session } from '../session/session.js'
import type { Run, State } from '../session/state.js'
import { isAtWork, isInterrupted } from '../session/status.js'
import { beginWait } from '../tree/waits.js'
import type { Context } from './context.js'
import { limitKeptServers } from './kept-servers.js'
import { flushOutbox } from './outbox.js'
import { wasStopped } from './outcome.js'
import { needsVisit } from './pending-visits.js'
import { toolboxOf } from './toolbox.js'

export interface VisitOptions {
  waitMs: number
  /** Whether the work goes on with an open run that it finds; else settling marks it as interrupted. */
  goesOn: boolean
  /** Whether nobody has to be asked about a tool that was cut short: the run ends with it. */
  endsRun?: boolean
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
  const session = await openForAppend(ctx.store, agentId, { command: ctx.command, waitMs: options.waitMs })
  const looksAgain = options.goesOn && options.endsRun !== true
  return finishAfter(ctx, session, looksAgain, async () => {
    const note = (text: string): void => ctx.reporter.note(text)
    const { policy } = toolboxOf(ctx, session)
    const { providers, tools } = ctx
    const settled = await settle(session, {
      providers,
      policy,
      unknownTool: options.endsRun === true ? 'continue' : tools.unknownTool,
      goesOn: options.goesOn,
      waitMs: ctx.bounds.waitMs,
      givesUp: options.endsRun === true,
      note,
    })
    // What a dead process owed goes out before anything new is done, but for the errors of a turn that is gone on with.
    if (!options.goesOn || !isInterrupted(session.state)) await flushOutbox(ctx, session, true)
    // What was asked of the agent holds for what is done now.
    applyControls(session)
    return work(session, settled)
  })
}

/**
 * How long a delivery waits for the agent's lock. A holder with a turn reads the inbox after it; any other does not.
 */
export function deliveryWaitMs(state: State | undefined): number {
  return state !== undefined && isAtWork(state) ? 0 : limits.shortLockWaitMs
}

/** Carries out what needs no turn. */
export function applyControls(session: Session): void {
  if (session.state.state === 'terminated') return
  for (let records = controlRecords(session); records.length > 0; records = controlRecords(session)) {
    syncBeforeForgetting(session, records.length)
    session.append(records)
    removeDelivered(session)
  }
}

/**
 * The work and the clean end of a session that is open already. `looksAgain`: at the inbox, after a turn and the
 * release of the lock, unless somebody has stopped that turn and wants the agent at rest.
 */
export async function finishAfter<T>(
  ctx: Context,
  session: Session,
  looksAgain: boolean,
  work: () => Promise<T>,
): Promise<T> {
  let hadTurn = false
  session.onRecord((record) => {
    hadTurn ||= record.kind.startsWith('run.')
    ctx.reporter.record(record, session.id)
  })
  const result = await toItsEnd(ctx, session, work)
  // The session is closed: what fails from here on must not close it again, when its descriptors may be another's.
  if (hadTurn) await limitKeptServers(ctx)
  if (looksAgain && hadTurn && !wasStopped(session.state.run as Run)) ctx.deliveries.lookAgain(session.id)
  return result
}

async function toItsEnd<T>(ctx: Context, session: Session, work: () => Promise<T>): Promise<T> {
  try {
    const result = await work()
    await flushOutbox(ctx, session, true)
    // Also a reply that a call found there, as the one that it was run again for: no marker brings anybody back for it.
    removeDelivered(session)
    session.append(restRecords(session.state, 'idle'))
    await session.close((state) => needsVisit(ctx.store, state))
    return result
  } catch (error) {
    if (isStorageFailure(error)) await session.abandon()
    else await closeAfter(ctx, session)
    throw error
  }
}

/** The error that is on its way says more than any that the clean end could add. */
async function closeAfter(ctx: Context, session: Session): Promise<void> {
  try {
    session.append(restRecords(session.state, 'idle'))
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
 * In a tool of an agent a command holds up that agent's turn for as long as it works on another. That is a wait like
 * any other, also where nobody asked for a reply: no two may wait for one another. Throws DEADLOCK.
 */
export async function holdUpCaller(ctx: Context, agentId: string): Promise<{ release(): Promise<void> }> {
  const { store, caller, command } = ctx
  if (caller === null) return { release: async () => undefined }
  return beginWait(store, caller, agentId, command)
}
