/**
 * `wait`: waits until agents reach a condition. It runs agents that no process holds, in parallel up to `slots_max`,
 * and watches the others.
 */
import { clock } from '../clock.js'
import type { Context, VisitResult } from '../dispatch/context.js'
import { failureOfLatest } from '../dispatch/outcome.js'
import { missingLog } from '../dispatch/read-state.js'
import { resultEnd } from '../dispatch/result-end.js'
import { viewEndedRun, viewTurn } from '../dispatch/view.js'
import { type Look, progressText } from '../dispatch/wait-progress.js'
import { SubstratError } from '../errors.js'
import { readClock } from '../host/identity.js'
import type { TurnResult, WaitedAgent } from '../schema/output.js'
import { stoppedText } from '../session/busy.js'
import { openDurable, openForRead } from '../session/load.js'
import { readableState } from '../session/peek-state.js'
import type { State } from '../session/state.js'
import { isDue, isInterrupted, waitIsGood } from '../session/status.js'
import { statusNow } from '../session/status-now.js'
import { sleepUnless, timeoutSignal } from '../timeout-signal.js'
import { beginWait, type WaitEdge } from '../tree/waits.js'
import { whyStuck } from './stuck.js'
import { neverWaits, unreadableAgent, whyGivenUp } from './wait-failures.js'

export interface WaitRequest {
  agentIds: string[]
  /** Finds agents that came meanwhile. The wait then ends when none of all these has anything left to do, and reports them at the end. */
  findAgain?: (() => string[]) | undefined
  /**
   * `idle`: no turn runs or is due, and no decision is outstanding. `waiting`: the agent asks for a decision. `any`:
   * one of the two.
   */
  until: 'idle' | 'waiting' | 'any'
  /** Whether this process runs agents that no other process holds. */
  drains: boolean
  timeoutMs: number | null
}

export type WaitListener = (waited: WaitedAgent, failure: SubstratError | undefined) => void

/** Calls back with each agent, in order, once it has reached the requested condition. */
export async function waitForAgents(
  ctx: Context,
  request: WaitRequest,
  onAgent: WaitListener,
): Promise<void> {
  const { timeoutMs } = request
  const { whenRequested } = ctx.shutdown
  const signal =
    timeoutMs === null ? whenRequested : AbortSignal.any([whenRequested, timeoutSignal(timeoutMs)])
  const edges = await edgesOf(ctx, request.agentIds)
  let endShowing = (): void => undefined
  try {
    const watch = new Watch(ctx, request)
    if (request.findAgain !== undefined) endShowing = ctx.reporter.wait(() => watch.progress)
    const reported = await watch.reportUntilDone(signal, onAgent)
    const { deliveries } = watch.ctx
    if (signal.aborted) {
      deliveries.stop()
      ctx.shutdown.expire()
    }
    await deliveries.untilIdle()
    for (const agentId of watch.agentIds.slice(reported)) watch.giveUp(agentId, onAgent)
  } finally {
    endShowing()
    for (const edge of edges) await edge.release()
  }
}

/** A `wait` in a tool makes the tool's agent wait too. Throws DEADLOCK if agents would wait for each other. */
async function edgesOf({ store, caller, command }: Context, agentIds: string[]): Promise<WaitEdge[]> {
  const edges: WaitEdge[] = []
  if (caller === null) return edges
  try {
    for (const agentId of agentIds) edges.push(await beginWait(store, caller, agentId, command))
    return edges
  } catch (error) {
    for (const edge of edges) await edge.release()
    throw error
  }
}

const PAUSE_MS_MAX = 100
/** How often the processes of running agents are looked at. */
const STOPPED_MS = 500

/** The state of an agent when its wait ended, and the failure if there is one. */
interface WaitResult {
  state: State | undefined
  failure: SubstratError | undefined
}

class Watch {
  /** The latest visit of this process to each agent, and the last `seq` of its log at that time. */
  private readonly visits = new Map<string, VisitResult & { seq: number | undefined }>()

  /** The last look at each agent: whether a process works on it, or it asks for a decision. */
  private readonly looks = new Map<string, Look>()
  private readonly rests = new Map<string, WaitResult>()
  private stoppedFromMs = clock.monotonic() + STOPPED_MS
  readonly agentIds: string[]

  readonly ctx: Context

  constructor(
    ctx: Context,
    private readonly request: WaitRequest,
  ) {
    this.agentIds = [...request.agentIds]
    ctx.shutdown.listen()
    this.ctx = ctx.deliveries.contextUnder({
      turnsMax: Number.POSITIVE_INFINITY,
      onVisited: (agentId, visited) =>
        this.visits.set(agentId, { ...visited, seq: readableState(ctx.store, agentId)?.last_seq }),
    })
  }

  /** Returns how many agents it reported. */
  async reportUntilDone(signal: AbortSignal, onAgent: WaitListener): Promise<number> {
    const { agentIds, rests } = this
    let reported = 0
    for (let pauseMs = 2; ; pauseMs = Math.min(pauseMs * 1.5, this.pauseMsMax)) {
      this.lookAtOthers(signal)
      this.noteStopped()
      if (this.request.findAgain !== undefined && !signal.aborted && !this.isOver(signal)) {
        await sleepUnless(signal, pauseMs)
        continue
      }
      for (let id = agentIds[reported]; id !== undefined && rests.has(id); id = agentIds[++reported])
        this.tell(id, rests.get(id) as WaitResult, onAgent)
      if (reported === agentIds.length || signal.aborted) return reported
      await sleepUnless(signal, pauseMs)
    }
  }

  private lookAtOthers(signal: AbortSignal): void {
    for (const agentId of this.agentIds) {
      const rest = this.rests.has(agentId) ? undefined : this.restAt(agentId, !signal.aborted)
      if (rest !== undefined) this.rests.set(agentId, rest)
    }
  }

  /** Whether all have ended at one moment: an agent that runs later may give work to one that had ended. */
  private isOver(signal: AbortSignal): boolean {
    const { agentIds, rests } = this
    if (rests.size < agentIds.length) return false
    const added = this.request.findAgain?.().filter((id) => !agentIds.includes(id)) ?? []
    agentIds.push(...added)
    rests.clear()
    this.lookAtOthers(signal)
    return rests.size === agentIds.length
  }

  /** A look at many agents takes long, so it is repeated less often. */
  private get pauseMsMax(): number {
    return Math.max(PAUSE_MS_MAX, (this.agentIds.length - this.rests.size) * 2)
  }

  get progress(): string {
    return progressText([...this.looks.values()], (id) => this.rests.has(id), this.agentIds.length)
  }

  /** Call when the turns that ran here have ended or were stopped. */
  giveUp(agentId: string, onAgent: WaitListener): void {
    const rest = this.restAt(agentId, false)
    if (rest !== undefined) {
      this.tell(agentId, rest, onAgent)
      return
    }
    const state = openDurable(this.ctx.store, agentId)?.state as State
    this.tell(agentId, { state, failure: whyGivenUp(this.ctx, state) }, onAgent)
  }

  /** Says of each agent whose process is stopped that this wait may not end by itself. */
  private noteStopped(): void {
    const at = clock.monotonic()
    if (at < this.stoppedFromMs) return
    this.stoppedFromMs = at + STOPPED_MS
    for (const look of this.looks.values()) {
      const { id } = look.state
      // A turn of this process is not stopped.
      const isOther = look.isRunning && !this.rests.has(id) && !this.ctx.deliveries.has(id)
      const text = isOther ? stoppedText(this.ctx.store, id) : undefined
      if (text !== undefined && look.isStopped !== true) this.ctx.reporter.note(text)
      look.isStopped = text !== undefined
    }
  }

  /** Undefined while a process works on the agent or is about to. */
  private restAt(agentId: string, begins: boolean): WaitResult | undefined {
    try {
      const state = openForRead(this.ctx.store, agentId)?.state
      if (state === undefined) throw missingLog(this.ctx.store, agentId)
      const rest = this.resultOf(state, begins)
      if (rest === undefined) return undefined
      const durable = openDurable(this.ctx.store, agentId)?.state
      return durable?.last_seq === state.last_seq ? { state: durable, ...rest } : undefined
    } catch (error) {
      if (!(error instanceof SubstratError)) throw error
      return { state: undefined, failure: error }
    }
  }

  private resultOf(state: State, begins: boolean): Pick<WaitResult, 'failure'> | undefined {
    const { run } = state
    const status = statusNow(this.ctx.store, state)
    const isRunning = status === 'running' || this.ctx.deliveries.has(state.id)
    this.looks.set(state.id, { ...this.looks.get(state.id), state, isRunning })
    if (status === 'running') return undefined
    const isPending = this.isUnfinished(state) || this.ctx.deliveries.hasWork(state.id)
    if (isPending) {
      if (this.isWorkedOn(state, begins)) return undefined
      const { error } = this.visits.get(state.id) ?? {}
      if (error !== undefined) return { failure: error }
      // With `--no-drain`, another process must deliver the pending mail.
      if (!this.isUnfinished(state)) return undefined
    }
    const failure = run === null ? undefined : failureOfLatest(this.ctx.store, state, run, undefined)
    if (status === 'waiting') return this.resultOfWaiting(failure)
    if (status === 'interrupted_startup' || status === 'interrupted_waiting') return { failure }
    const stuck = whyStuck(this.ctx.store, state)
    // A command on that host delivers the mail.
    if (stuck?.code === 'OTHER_HOST') return undefined
    if (stuck !== undefined) return { failure: stuck }
    if (this.request.until !== 'waiting') return { failure }
    return state.state === 'terminated' ? { failure: neverWaits(state) } : undefined
  }

  private resultOfWaiting(failure: SubstratError | undefined): Pick<WaitResult, 'failure'> | undefined {
    switch (this.request.until) {
      case 'idle':
        return undefined
      case 'waiting':
        return { failure: failure?.code === 'WAITING' ? undefined : failure }
      case 'any':
        return { failure }
    }
  }

  /** Whether a visit would continue the turn or report why it cannot. */
  private isUnfinished(state: State): boolean {
    const { run } = state
    if (run?.status !== 'open') return isInterrupted(state)
    const now = readClock()
    return run.wait === null || isDue(run.wait, now) || !waitIsGood(state, run.wait, now)
  }

  /**
   * Whether this or another process works on the agent. If none does, this process starts a visit, unless its last
   * visit ran no turn and the log has not grown since.
   */
  private isWorkedOn({ id, last_seq }: State, begins: boolean): boolean {
    const { store, deliveries } = this.ctx
    if (deliveries.has(id) || store.isHeld(id)) return true
    const last = this.visits.get(id)
    const isInVain = last !== undefined && !last.isHeld && last.turns === 0 && last.seq === last_seq
    if (!this.request.drains || isInVain) return false
    if (begins) deliveries.wake(id)
    return true
  }

  private tell(agentId: string, { state, failure }: WaitResult, onAgent: WaitListener): void {
    const view =
      state === undefined
        ? unreadableAgent(this.ctx.store, agentId, failure as SubstratError)
        : this.viewOf(state)
    onAgent({ ...view, ...resultEnd(failure) }, failure)
  }

  private viewOf(state: State): TurnResult {
    const { store } = this.ctx
    return state.run === null ? viewTurn(store, state, null, null) : viewEndedRun(store, state, state.run)
  }
}
