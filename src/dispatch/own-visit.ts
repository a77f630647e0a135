/**
 * The visit of a command to its agent: it begins the turn of the command, reports the outcome, and finishes with turns for mail, of
 * this agent and of others that received mail because of it.
 */
import type { SettleResult } from '../recovery/settle.js'
import type { Session } from '../session/session.js'
import type { Run } from '../session/state.js'
import { hasNoMoreTurns, takeMail } from './advance.js'
import type { Context } from './context.js'
import { pendingText } from './deliveries.js'
import { effectOnTurn, withEffect } from './effect.js'
import { type OnOutcome, type Outcome, outcomeOf, wasStopped } from './outcome.js'
import type { TurnOptions } from './turns.js'
import { finishAfter, holdUpCaller, type VisitOptions, visit } from './visit.js'

export class Visit {
  /** Set while the agent is open. */
  session!: Session
  settled!: SettleResult
  private outcome: Outcome | undefined

  constructor(
    readonly ctx: Context,
    readonly agentId: string,
    private readonly onOutcome: OnOutcome,
  ) {}

  /**
   * Does the work of the command, then delivers the mail that it caused. The exit status is that of the command's own turn. A
   * failure after its outcome, in a turn for mail, is only noted.
   */
  async finish(work: () => Promise<void>): Promise<void> {
    const { deliveries, reporter } = this.ctx
    try {
      await work()
      // If a command stopped the turn, the agent gets no further turn.
      if (this.outcome?.wasStopped !== true) deliveries.wakeIfPending(this.agentId)
    } catch (error) {
      if (!this.isReported) throw error
      reporter.note(pendingText(this.agentId, error as Error))
    } finally {
      await deliveries.untilIdle()
    }
  }

  /** Locks, repairs and settles the agent, and closes it after the work. Waits up to `waitMs` while another process holds it. */
  open<T>(work: () => Promise<T>, options: Partial<VisitOptions> = {}): Promise<T> {
    const { ctx, agentId } = this
    const all = { waitMs: ctx.bounds.waitMs, continuesTurn: true, ...options }
    return visit(ctx, agentId, all, (session, settled) => {
      Object.assign(this, { session, settled })
      return work()
    })
  }

  /** The same for an agent that the command has created and holds. */
  async openNew(session: Session, work: () => Promise<void>): Promise<void> {
    this.session = session
    const wait = await holdUpCaller(this.ctx, this.agentId)
    await this.finish(() => finishAfter(this.ctx, session, true, work)).finally(() => wait.release())
  }

  /**
   * Begins the command's own turn and reports its outcome. If that run was stopped, pending mail stays pending. `not` says that a
   * person must not repeat the command once the turn has begun. Undefined if repeating it continues the turn.
   */
  async begin(turn: (options: TurnOptions) => Promise<Run>, not?: string): Promise<void> {
    const { ctx, session } = this
    const before = session.state
    let run: Run
    try {
      run = await turn({ isLast: () => hasNoMoreTurns(ctx, session) })
      this.report(outcomeOf(ctx, session, run))
    } catch (error) {
      const effect = not && effectOnTurn(ctx.store, { before, after: session.state, error, not })
      throw withEffect(error, effect || undefined)
    }
    if (!wasStopped(run)) await takeMail(ctx, session, ctx.deliveries.budget)
  }

  report(outcome: Outcome): void {
    this.outcome = outcome
    this.ctx.shutdown.earlyEnd = undefined
    this.onOutcome(outcome)
  }

  /** Reports the latest run of the agent. */
  reportRun(): void {
    this.report(outcomeOf(this.ctx, this.session, this.session.state.run as Run))
  }

  get isReported(): boolean {
    return this.outcome !== undefined
  }
}

/** A visit whose work has the agent open. */
export function visitAndFinish(
  ctx: Context,
  agentId: string,
  onOutcome: OnOutcome,
  work: (visit: Visit) => Promise<void>,
): Promise<void> {
  const visit = new Visit(ctx, agentId, onOutcome)
  return visit.finish(() => visit.open(() => work(visit)))
}
