/**
 * Who gets a turn now: the agents that this command has caused mail for, side by side, up to the slots and the bound of
 * the command. It is also the other half of the lost-wake-up rule: after a lock is released the inbox is looked at again,
 * because a sender that found it locked has left its message to us.
 */
import { SubstratError } from '../errors.js'
import { limits } from '../limits.js'
import { hasDueMail } from '../mail/inbox.js'
import { openForRead } from '../session/open-for-read.js'
import type { State } from '../session/state.js'
import { OPERATOR } from '../storage/mailboxes.js'
import type { Context } from './context.js'
import { advance } from './go-on.js'
import { wasStopped } from './outcome.js'
import { visit } from './visit.js'

/** What a visit came to; undefined where another process has the agent, and looks after it. */
export type DeliveryListener = (agentId: string, turns: number, error: SubstratError | undefined) => void

/** How long a holder that has no turn, such as `set`, is waited for: it does not look at the inbox after itself. */
const SHORT_HOLD_MS = 2000
/** Turns of one agent before the others that wait get theirs. */
const TURNS_AT_ONCE = 10

export class Deliveries {
  /** Turns that may still be begun. */
  turnsLeft: number = limits.turnsDrainedMax
  onVisited: DeliveryListener | undefined
  /** While it is, nobody is begun with. */
  isPaused = false
  private readonly bugs: unknown[] = []
  private readonly waiting: string[] = []
  private readonly active = new Map<string, Promise<void>>()
  /** Woken while they were at it. */
  private readonly again = new Set<string>()
  /** What was left undone, for the note at the end. */
  private readonly left = new Set<string>()

  /** `isOn`: whether mail is delivered at all (`--no-drain`). */
  constructor(
    private readonly ctx: Context,
    private readonly isOn: boolean,
  ) {}

  wake(agentId: string): void {
    if (agentId === OPERATOR) return
    if (!this.isOn || this.turnsLeft <= 0 || this.ctx.shutdown.requested !== undefined) this.left.add(agentId)
    else if (this.active.has(agentId)) this.again.add(agentId)
    else if (!this.waiting.includes(agentId)) this.waiting.push(agentId)
    this.begin()
  }

  /** Settles when nothing is under way any more; says what was left. Throws what can only be a bug of ours. */
  async idle(): Promise<void> {
    this.isPaused = false
    this.begin()
    while (this.active.size > 0) await Promise.race(this.active.values())
    const [bug] = this.bugs.splice(0)
    if (bug !== undefined) throw bug
    const left = [...this.left].filter((id) => this.isOwed(id))
    this.left.clear()
    if (left.length === 0 || !this.isOn) return
    const agents = left.length === 1 ? `agent ${left[0]}` : `${left.length} agents`
    this.ctx.reporter.note(`messages still wait for ${agents}: substrat deliver --all takes them`)
  }

  private begin(): void {
    while (!this.isPaused && this.active.size < this.ctx.bounds.slotsMax) {
      const agentId = this.waiting.shift()
      if (agentId === undefined) return
      const done = this.deliver(agentId).then(() => {
        this.active.delete(agentId)
        if (this.again.delete(agentId) && this.isOwed(agentId)) this.wake(agentId)
        this.begin()
      })
      this.active.set(agentId, done)
    }
  }

  private async deliver(agentId: string): Promise<void> {
    try {
      const { turns, goesOn } = await visit(
        this.ctx,
        agentId,
        { waitMs: this.hasTurn(agentId) ? 0 : SHORT_HOLD_MS, goesOn: true },
        async (session, settled) => {
          const budget = Math.min(this.turnsLeft, TURNS_AT_ONCE)
          this.turnsLeft -= budget
          const turns = await advance(this.ctx, session, settled, budget)
          this.turnsLeft += budget - turns
          const { run } = session.state
          return { turns, goesOn: turns > 0 && !(run !== null && wasStopped(run)) }
        },
      )
      this.onVisited?.(agentId, turns, undefined)
      if (goesOn && this.isOwed(agentId)) this.again.add(agentId)
    } catch (error) {
      if (!(error instanceof SubstratError)) {
        this.bugs.push(error)
        return
      }
      // Whoever has a turn there now looks at the inbox after it.
      if (error.code === 'LOCKED') return
      this.onVisited?.(agentId, 0, error)
      this.ctx.reporter.note(`messages may still wait for agent ${agentId}: ${error.message}`)
    }
  }

  private hasTurn(agentId: string): boolean {
    return this.stateOf(agentId)?.run?.status === 'open'
  }

  /** Whether a turn could be begun there for what waits. */
  isOwed(agentId: string): boolean {
    const state = this.stateOf(agentId)
    return state !== undefined && canTake(state) && hasDueMail(this.ctx.store, state)
  }

  private stateOf(agentId: string): State | undefined {
    try {
      return openForRead(this.ctx.store, agentId)?.state
    } catch {
      // The visit says what is wrong with it.
      return undefined
    }
  }
}

/** The context of a command, with what delivers the mail that it causes. */
export function withDeliveries(parts: Omit<Context, 'deliveries'>, isOn: boolean): Context {
  const ctx = parts as Context
  ctx.deliveries = new Deliveries(ctx, isOn)
  return ctx
}

function canTake({ state, hold, gate, run }: State): boolean {
  const isParked = run?.status === 'open' && run.wait !== null
  return state !== 'terminated' && !hold && !isParked && (!gate.isGated || gate.permits > 0)
}
