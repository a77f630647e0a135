/**
 * `cancel`: ends the turn that an agent runs, is parked in, or was left in by a crash. Without a turn, forgets refused messages. Pending mail stays pending. The
 * stop request names the run that was found, so a later turn is never cancelled.
 *
 * On disk if the command dies: perhaps the request, with the agent's marker. After `--force` has killed the holder: also what the death
 * of any holder leaves, so the row of the recovery table is that of its log. The request comes before the SIGKILL, so a command that
 * continues the turn of that row cancels it.
 */
import { clock, sleep } from '../clock.js'
import { checkReach, refuseInTool } from '../dispatch/caller.js'
import type { Context } from '../dispatch/context.js'
import { type Effect, withEffect } from '../dispatch/effect.js'
import { wordOf } from '../dispatch/outcome.js'
import { readState } from '../dispatch/read-state.js'
import { requestEnded, requestStands } from '../dispatch/standing-requests.js'
import { viewAgent } from '../dispatch/view.js'
import { visit } from '../dispatch/visit.js'
import { SubstratError } from '../errors.js'
import { bootId } from '../host/identity.js'
import { send } from '../provider/process-group.js'
import { messageOptions } from '../schema/message.js'
import type { CancelledAgent } from '../schema/output.js'
import { currentActor } from '../session/actor.js'
import { busyError, stoppedText } from '../session/busy.js'
import { isHolderStopped, isOfThisMachine, pidOfHolder } from '../session/holder-process.js'
import { readContinuedRun } from '../session/past-run.js'
import { readableState } from '../session/peek-state.js'
import type { NewRecord } from '../session/records.js'
import type { Run, State } from '../session/state.js'
import { isUnfinished } from '../session/status.js'
import { randomUuid } from '../start/random.js'
import type { Holder, Store } from '../storage/store.js'
import { livingBelow } from '../tree/children.js'
import { isBelow } from '../tree/forest.js'
import { withdrawnRecords } from '../turn/step/calls.js'
import { runStarted } from '../turn/step/records.js'
import { revokedRecords } from '../turn/tokens.js'

export interface CancelWords {
  /** Cancel every agent that has a turn. */
  all: boolean
  agents: string[]
  /** Also cancel every agent below them that has a turn. */
  isRecursive: boolean
  /** Kill the process of a turn that does not end. */
  isForced: boolean
}

/** In a tool, cancels only agents below the caller. */
export async function cancelAgents(ctx: Context, words: CancelWords): Promise<CancelledAgent[]> {
  if (words.agents.length === 0 && !words.all) {
    throw new SubstratError('USAGE', 'cancel needs the name of an agent', {
      hint: 'list the agents: substrat list',
    })
  }
  if (words.agents.length > 0 && words.all) {
    throw new SubstratError('USAGE', 'cancel needs either an agent or --all', {
      hint: 'to cancel the turn of that agent only, leave out --all',
    })
  }
  const { store, caller } = ctx
  // It may be the process of the caller's own turn, which also runs turns of the agents below.
  if (words.isForced) refuseInTool(caller, 'kill a process of substrat')
  const cancelOne = (id: string): Promise<CancelledAgent> => cancel(ctx, id, words.isForced)
  if (words.all) {
    const ids = store.visits.markedIds().filter((id) => hasTurn(ctx, id))
    const within = ids.filter((id) => caller === null || isBelow(store, readState(store, id), caller))
    return Promise.all(within.map(cancelOne))
  }
  for (const id of words.agents) checkReach(store, caller, id, 'cancel')
  const ids = words.agents.flatMap((id) => (words.isRecursive ? withTurnsBelow(ctx, id) : [id]))
  return Promise.all(ids.map(cancelOne))
}

function withTurnsBelow(ctx: Context, agentId: string): string[] {
  const below = livingBelow(ctx.store, readState(ctx.store, agentId))
  const others = below.filter((state) => state.id !== agentId && isUnfinished(state))
  return [agentId, ...others.map(({ id }) => id)]
}

/** Ends a run that no process works on: revokes its token and gives each of its calls a result. */
export function cancelRecords(state: State, reason: NewRecord<'run.cancelled'>['reason']): NewRecord[] {
  const { run } = state
  if (run?.status !== 'open') return []
  const why = reason === 'terminated' ? 'the agent was terminated' : 'the turn was cancelled'
  return [
    ...revokedRecords(state, run, 'ended'),
    ...withdrawnRecords(run, why),
    { kind: 'run.cancelled', run_id: run.run_id, reason },
  ]
}

/**
 * An interrupted run already has its end, but would be continued. So a run that continues it is started and cancelled.
 */
function endOfInterrupted(state: State): NewRecord[] {
  const { run } = state
  if (run === null || run.status === 'open' || !isUnfinished(state)) return []
  const run_id = randomUuid()
  const begun = runStarted(state, {
    run_id,
    boot_id: bootId(),
    prompt: { origin: 'continuation', continues: run.run_id, auto: false, content: null },
    ...messageOptions({ key: run.key, digest: run.digest }),
    sources: [],
  })
  const left = withdrawnRecords({ ...run, run_id }, 'the turn was cancelled')
  return [...begun, ...left, { kind: 'run.cancelled', run_id, reason: 'cancelled' }]
}

/** A marked agent may have no turn. An agent that cannot be read has no turn that could be cancelled. */
function hasTurn(ctx: Context, agentId: string): boolean {
  const state = readableState(ctx.store, agentId)
  return state !== undefined && isUnfinished(state)
}

async function cancel(ctx: Context, agentId: string, isForced: boolean): Promise<CancelledAgent> {
  const state = readState(ctx.store, agentId)
  const { run } = state
  const hasTurn = run !== null && isUnfinished(state)
  if (hasTurn) await end(ctx, agentId, run, isForced).finally(() => requestEnded(ctx, agentId))
  const forgotten = hasTurn || state.refused === undefined ? 0 : await forgetRefused(ctx, agentId)
  const place = run === null ? undefined : { ...run.start, started_at: run.started_at, end: 0 }
  const isCancelled =
    hasTurn && place !== undefined && readContinuedRun(ctx.store, agentId, place).status === 'cancelled'
  const agent = viewAgent(ctx.store, readState(ctx.store, agentId))
  return { agent, cancelled: isCancelled, ...(forgotten === 0 ? {} : { forgotten }) }
}

/** Returns how many refusals there were. */
async function forgetRefused(ctx: Context, agentId: string): Promise<number> {
  const { waitMs } = ctx.bounds
  return visit(ctx, agentId, { waitMs, continuesTurn: true, endsRun: true }, async (session) => {
    const { refused = [], state } = session.state
    if (refused.length === 0 || state === 'terminated' || isUnfinished(session.state)) return 0
    session.append([{ kind: 'session.configured', forgets_refusals: true }])
    return refused.length
  })
}

/** Asks the holder to end the turn. If the turn is parked or its holder is dead, ends it here. */
async function end(ctx: Context, agentId: string, { run_id }: Run, isForced: boolean): Promise<void> {
  const begin = clock.monotonic()
  const until = begin + ctx.bounds.waitMs
  // Half of a short time is left for the end of the killed process.
  const forceAfterMs = Math.min(FORCE_AFTER_MS, ctx.bounds.waitMs / 2)
  let isKilled = false
  let isAsked = false
  for (; ; await sleep(20)) {
    try {
      return await visit(ctx, agentId, { waitMs: 0, continuesTurn: true, endsRun: true }, async (session) => {
        if (session.state.run?.run_id !== run_id) return
        session.append([...cancelRecords(session.state, 'cancelled'), ...endOfInterrupted(session.state)])
      })
    } catch (error) {
      if (!isBusy(error)) throw isAsked ? withEffect(error, effectOfAsking(ctx, agentId)) : error
      if (clock.monotonic() >= until) throw isForced ? elsewhereOr(ctx.store, agentId, error) : error
    }
    if (readState(ctx.store, agentId).run?.run_id !== run_id) return
    if (!isAsked) {
      isAsked = true
      const stopped = isForced ? undefined : stoppedText(ctx.store, agentId)
      if (stopped !== undefined) ctx.reporter.note(stopped)
      ctx.reporter.note('a turn is running: asking it to stop')
      ask(ctx, agentId, run_id)
      requestStands(ctx, agentId, 'cancel')
    }
    if (isForced && !isKilled) isKilled = killHolder(ctx, agentId, begin + forceAfterMs)
  }
}

function ask(ctx: Context, agentId: string, run_id: string): void {
  try {
    ctx.store.requests.put(agentId, run_id, 'cancel', currentActor())
    // As in `requestStop`: if this command dies, the marker leads to the request.
    ctx.store.visits.mark(agentId)
  } catch (error) {
    throw withEffect(error, effectOfAsking(ctx, agentId))
  }
}

/** The request may be stored, and ends the turn. A repeated `cancel` would end the next one, which mail may have begun meanwhile. */
function effectOfAsking({ store }: Context, agentId: string): Effect {
  const word = wordOf(readState(store, agentId))
  return {
    effect: 'unknown',
    next: `see whether its turn ended: substrat show ${word}`,
    not: 'cancel again only if it did not',
    facts: { agent_id: agentId },
  }
}

function isBusy(error: unknown): boolean {
  return error instanceof SubstratError && error.code === 'LOCKED'
}

/** A process that runs gets this time to end its turn itself. */
const FORCE_AFTER_MS = 2000

/** Kills the holder, as `kill -9` does: the next visit then ends the turn, and its programs. False while it may still end itself. */
function killHolder({ store, reporter }: Context, agentId: string, fromMs: number): boolean {
  const holder = store.isHeld(agentId) ? store.holder(agentId) : undefined
  if (holder === undefined) return false
  const isReady = isHolderStopped(holder) || clock.monotonic() >= fromMs
  if (!isReady) return false
  const pid = pidOfHolder(holder)
  if (pid === undefined) throw notHere(store, agentId, holder)
  reporter.note(`killing pid ${pid} (${holder.command})`)
  send(pid, 'SIGKILL')
  return true
}

/** The time is up: a holder that is not here would never have been killed. */
function elsewhereOr(store: Store, agentId: string, error: unknown): unknown {
  const holder = store.holder(agentId)
  const isElsewhere = holder !== undefined && store.isHeld(agentId) && pidOfHolder(holder) === undefined
  return isElsewhere ? notHere(store, agentId, holder) : error
}

/** A number of another container or machine names a different process here. The request stays: that process still reads it. */
function notHere(store: Store, agentId: string, holder: Holder): SubstratError {
  const { message, facts } = busyError(store, agentId)
  const place = isOfThisMachine(holder)
    ? 'in another container (pid namespace) of this machine'
    : 'on another machine'
  const why = `it runs ${place}; it was asked to stop and will stop as soon as it can`
  return new SubstratError('LOCKED', `${message}, and cannot be killed from here: ${why}`, {
    hint: `end it there: kill -9 ${holder.pid}; or run the same command there`,
    facts,
  })
}
