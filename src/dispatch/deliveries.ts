/**
 * Runs turns of the agents that receive mail because of this command, in parallel, up to the slots and the turn budget.
 * Also prevents lost wake-ups: the inbox is read again after a lock is released, because a sender that found the agent
 * locked relies on the holder.
 */
import { SubstratError } from '../errors.js'
import { OPERATOR } from '../format.js'
import { limits } from '../limits.js'
import { hasControls, hasDueMail } from '../mail/inbox.js'
import { readableState } from '../session/peek-state.js'
import type { State } from '../session/state.js'
import { isAtWork } from '../session/status.js'
import { visitAndAdvance } from './advance.js'
import type { Context, Deliveries, DeliveryPolicy } from './context.js'
import { runUntil } from './run-until.js'
import { TurnBudget } from './turn-budget.js'
import { type TurnKind, turnObstacle } from './turn-obstacle.js'
import { deliveryWaitMs } from './visit.js'

/** Turns of one agent in a row before other agents get theirs. */
const TURNS_AT_ONCE = 10

class CommandDeliveries implements Deliveries {
  readonly ctx: Context
  readonly budget: TurnBudget
  private isPaused: boolean
  /** The deliveries of parts of the command, see `contextUnder`. */
  private readonly parts: Deliveries[] = []
  private readonly waiting = new Set<string>()
  private readonly active = new Map<string, Promise<void>>()
  private readonly joined = new Set<Promise<void>>()
  /** Agents that were woken during their own visit. */
  private readonly again = new Set<string>()
  /** Agents whose inbox needs no further check: it was read after their lock was released, or another process has taken it. */
  private readonly handledElsewhere = new Set<string>()
  /** Agents without a turn here, for the note at the end. */
  private readonly left = new Set<string>()

  constructor(
    command: Omit<Context, 'deliveries'>,
    private readonly policy: DeliveryPolicy,
  ) {
    this.ctx = { ...command, deliveries: this }
    this.budget = new TurnBudget(policy.turnsMax)
    this.isPaused = policy.isPaused
  }

  contextUnder(policy: Partial<DeliveryPolicy>, changes: Partial<Omit<Context, 'deliveries'>> = {}): Context {
    const { ctx } = new CommandDeliveries({ ...this.ctx, ...changes }, { ...this.policy, ...policy })
    this.parts.push(ctx.deliveries)
    return ctx
  }

  wake(agentId: string): void {
    if (this.policy.isOn && agentId !== OPERATOR) this.enqueue(agentId)
  }

  lookAgain(agentId: string, state?: State): void {
    this.handledElsewhere.add(agentId)
    if (this.hasWork(agentId, state)) this.enqueue(agentId)
  }

  markHandled(agentId: string): void {
    this.handledElsewhere.add(agentId)
  }

  wakeIfPending(agentId: string): void {
    // The look after the release of the lock has seen every message whose sender found the agent locked.
    if (!this.handledElsewhere.has(agentId) && this.hasWork(agentId)) this.wake(agentId)
  }

  has(agentId: string): boolean {
    return this.active.has(agentId) || this.waiting.has(agentId)
  }

  runUntil(agentId: string, isAnswered: () => boolean, signal: AbortSignal): Promise<string | undefined> {
    return runUntil(this.ctx, agentId, isAnswered, signal)
  }

  join<T>(turn: Promise<T>): Promise<T> {
    const settled: Promise<void> = turn.then(
      () => void this.joined.delete(settled),
      () => void this.joined.delete(settled),
    )
    this.joined.add(settled)
    return turn
  }

  stop(): void {
    this.budget.close()
    this.begin()
  }

  async untilIdle(): Promise<void> {
    for (const part of this.parts) await part.untilIdle()
    this.isPaused = false
    this.begin()
    while (this.active.size + this.joined.size > 0)
      await Promise.race([...this.active.values(), ...this.joined])
    const left = [...this.left].filter((id) => this.hasWork(id))
    this.left.clear()
    if (left.length === 0) return
    const agents = left.length === 1 ? `agent ${left[0]}` : `${left.length} agents`
    this.ctx.reporter.note(`messages are still pending for ${agents}; deliver them: substrat deliver --all`)
  }

  private enqueue(agentId: string): void {
    if (!this.mayBegin) this.left.add(agentId)
    else if (this.active.has(agentId)) this.again.add(agentId)
    else this.waiting.add(agentId)
    this.begin()
  }

  private get mayBegin(): boolean {
    return this.budget.left > 0 && this.ctx.shutdown.requested === undefined
  }

  private begin(): void {
    if (!this.mayBegin) {
      for (const agentId of this.waiting) this.left.add(agentId)
      this.waiting.clear()
    }
    for (const agentId of this.waiting) {
      if (this.isPaused || this.active.size >= this.policy.activeMax) return
      this.waiting.delete(agentId)
      const done = this.deliver(agentId).then(async () => {
        // A visit may wait for nothing but its disk. Signals and reports of workers are heard here.
        await new Promise((resolve) => setImmediate(resolve))
        this.active.delete(agentId)
        if (this.again.delete(agentId)) this.lookAgain(agentId)
        this.begin()
      })
      this.active.set(agentId, done)
    }
  }

  private async deliver(agentId: string): Promise<void> {
    const waitMs = deliveryWaitMs(readableState(this.ctx.store, agentId))
    try {
      const budget = new TurnBudget(TURNS_AT_ONCE, this.budget)
      const turns = await visitAndAdvance(this.ctx, agentId, { waitMs, budget })
      this.policy.onVisited?.(agentId, { turns, isHeld: false, error: undefined })
      // Another agent may have spent the last turn of the budget.
      if (this.budget.left <= 0) this.left.add(agentId)
    } catch (error) {
      if (!(error instanceof SubstratError)) throw error
      // DEADLOCK: the agent waits for the agent whose tool runs this command, so it has a turn in another process.
      const isHeld = ['LOCKED', 'DEADLOCK'].includes(error.code)
      this.policy.onVisited?.(agentId, { turns: 0, isHeld, error: isHeld ? undefined : error })
      if (!isHeld) this.ctx.reporter.note(pendingText(agentId, error))
      // A process that runs a turn of the agent reads the inbox after it.
      else if (!this.hasTurn(agentId)) this.left.add(agentId)
    }
  }

  private hasTurn(agentId: string): boolean {
    const state = readableState(this.ctx.store, agentId)
    return state !== undefined && isAtWork(state)
  }

  hasWork(agentId: string, known?: State): boolean {
    const { store } = this.ctx
    const state = known ?? readableState(store, agentId)
    if (state === undefined || state.state === 'terminated') return false
    try {
      const mayTake = (turn: TurnKind): boolean => turnObstacle(store, state, turn) === undefined
      if (state.isPoked && mayTake('poke')) return true
      const ids = store.mail.ids(agentId)
      return (mayTake('mail') && hasDueMail(store, state, ids)) || hasControls(store, state, ids)
    } catch (error) {
      // An inbox that cannot be read may have due mail. The visit reports the error.
      if (error instanceof SubstratError) return true
      throw error
    }
  }
}

/** Adds `deliveries` to the context of a command. */
export function withDeliveries(
  parts: Omit<Context, 'deliveries'>,
  policy: Pick<DeliveryPolicy, 'isOn'> & Partial<DeliveryPolicy>,
): Context {
  const usual = {
    turnsMax: limits.turnsDrainedMax,
    activeMax: parts.bounds.slotsMax,
    onVisited: undefined,
    isPaused: false,
  }
  return new CommandDeliveries(parts, { ...usual, ...policy }).ctx
}

export function pendingText(agentId: string, { message }: Error): string {
  return `messages may still be pending for agent ${agentId}: ${message} (then deliver them: substrat deliver ${agentId})`
}
