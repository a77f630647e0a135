/** The agents below a channel: finds those that need a visit, and gives them turns. */
import { clock } from '../clock.js'
import type { Context, VisitResult } from '../dispatch/context.js'
import { SubstratError } from '../errors.js'
import { readClock } from '../host/identity.js'
import { readableState } from '../session/peek-state.js'
import type { ChannelState, State } from '../session/state.js'
import { isAtWork, isDue, isExhausted, isToContinue, openWait, waitIsGood } from '../session/status.js'

/** The pause before another visit to an agent whose visit failed. */
const RETRY_MS = 30_000

export class ThreadAgents {
  /** Without the limit on turns of other commands. */
  readonly ctx: Context
  private readonly retryAt = new Map<string, number>()
  private hasSeenAll = false

  constructor(
    private readonly command: Context,
    /** The path of the channel. */
    private readonly path: string,
  ) {
    this.ctx = command.deliveries.contextUnder({
      turnsMax: Number.POSITIVE_INFINITY,
      onVisited: (agentId, visited) => this.noteVisit(agentId, visited),
    })
  }

  get isActive(): boolean {
    return this.active.size > 0
  }

  private readonly active = new Set<string>()

  /** Wakes the agents that need a visit. Returns the threads' agents that may wait for a person. */
  look({ threads }: ChannelState): Set<string> {
    const { store } = this.command
    const found = new Set(store.visits.markedIds())
    // Markers are not synced, so after a boot they prove nothing.
    if (!this.hasSeenAll) for (const { agent_id } of threads) found.add(agent_id)
    this.hasSeenAll = true
    for (const id of found) {
      const state = readableState(store, id)
      if (state?.path.startsWith(`${this.path}/`) === true && this.needsVisit(state)) this.wake(id)
    }
    return found
  }

  private needsVisit(state: State): boolean {
    const { id } = state
    if (state.state === 'terminated' || this.ctx.deliveries.has(id)) return false
    if ((this.retryAt.get(id) ?? 0) > clock.monotonic() || this.command.store.isHeld(id)) return false
    const wait = openWait(state)
    if (wait !== null && !waitIsGood(state, wait, readClock())) return true
    if (isDue(wait, readClock()) || state.owes.length > 0) return true
    return this.ctx.deliveries.hasWork(id) || isToContinue(state) || (isAtWork(state) && !isExhausted(state))
  }

  wake(agentId: string): void {
    if (this.command.shutdown.requested !== undefined) return
    this.active.add(agentId)
    this.ctx.deliveries.wake(agentId)
  }

  async untilIdle(): Promise<void> {
    await this.ctx.deliveries.untilIdle()
    this.active.clear()
  }

  private noteVisit(agentId: string, { error }: VisitResult): void {
    this.active.delete(agentId)
    if (error instanceof SubstratError) this.retryAt.set(agentId, clock.monotonic() + RETRY_MS)
    else this.retryAt.delete(agentId)
  }
}
