/** Sends the outbound messages of the agents that a command visits, beside its other work. */
import { clock } from '../clock.js'
import { SubstratError } from '../errors.js'
import { limits } from '../limits.js'
import type { OutboundRules } from '../session/outbound.js'
import type { State } from '../session/state.js'
import type { Store } from '../storage/store.js'
import type { SenderPorts, SendingEnd } from './sender.js'
import type { OutboundTarget, OutboundTargets } from './target.js'

export interface Outbound {
  /** The events that are queued. */
  readonly rules: OutboundRules
  /** Call when the agent is released, and has pending messages. */
  wake(agentId: string): void
  /** The variables that were removed from the environment of this process, for workers of this command. */
  readonly secrets: Readonly<Record<string, string>>
  /** Waits a limited time for what is being sent. Messages that were not sent then stay pending. Call it last. */
  untilSent(): Promise<void>
}

export interface OutboundPorts extends Pick<SenderPorts, 'store' | 'command' | 'note'> {
  rules: OutboundRules
  secrets: Readonly<Record<string, string>>
  /** How long `untilSent` waits. */
  waitMs: number
  /** Called once something must be sent. */
  targets(): Promise<OutboundTargets>
  needsVisit(store: Store, state: State): boolean
}

export class CommandOutbound implements Outbound {
  private readonly end = new CommandEnd()
  private readonly sending = new Map<string, Promise<void>>()
  private readonly waiting = new Set<string>()
  /** Agents with messages to a full target. They do not count as sending, so agents with faster targets can proceed. */
  private readonly withoutRoom = new Map<OutboundTarget, Set<string>>()
  private targets: Promise<OutboundTargets> | undefined

  constructor(private readonly ports: OutboundPorts) {}

  get rules(): OutboundRules {
    return this.ports.rules
  }

  get secrets(): Readonly<Record<string, string>> {
    return this.ports.secrets
  }

  wake(agentId: string): void {
    if (this.end.signal.aborted) return
    this.waiting.add(agentId)
    this.begin()
  }

  async untilSent(): Promise<void> {
    if (this.sending.size === 0) return
    this.end.endAfter(this.ports.waitMs)
    while (this.sending.size > 0) await Promise.all(this.sending.values())
    this.end.close()
  }

  private begin(): void {
    for (const agentId of this.waiting) {
      if (this.sending.size >= limits.outboundAgentsMax || this.end.signal.aborted) return
      if (this.sending.has(agentId)) continue
      this.waiting.delete(agentId)
      const done = this.send(agentId).then((full) => {
        this.sending.delete(agentId)
        for (const target of full) {
          const others = this.withoutRoom.get(target) ?? new Set()
          this.withoutRoom.set(target, others.add(agentId))
        }
        // The target may have freed a slot before this agent was registered.
        for (const target of this.withoutRoom.keys()) this.fill(target)
        this.begin()
      })
      this.sending.set(agentId, done)
    }
  }

  /** Gives agents a place again, as many as the target has room for. */
  private fill(target: OutboundTarget): void {
    const agents = this.withoutRoom.get(target) ?? new Set()
    for (const agentId of [...agents].slice(0, target.room())) {
      agents.delete(agentId)
      this.waiting.add(agentId)
    }
  }

  /** Returns the targets that had no room for a message of the agent. */
  private async send(agentId: string): Promise<ReadonlySet<OutboundTarget>> {
    const { store, command, note, needsVisit } = this.ports
    try {
      this.targets ??= this.ports.targets()
      const targets = await this.targets
      const { sendPending } = await import('./sender.js')
      const { end } = this
      const onAttempted = (target: OutboundTarget): void => {
        this.fill(target)
        this.begin()
      }
      return await sendPending(
        { store, command, targets, note, end, onAttempted, needsVisit: (state) => needsVisit(store, state) },
        agentId,
      )
    } catch (error) {
      if (!(error instanceof SubstratError)) throw error
      // The messages stay pending. A turn does not fail because of them.
      note(`messages of agent ${agentId} may not be sent yet: ${error.message}`)
      return new Set()
    }
  }
}

class CommandEnd implements SendingEnd {
  private readonly controller = new AbortController()
  private endsAt = Number.POSITIVE_INFINITY
  private timer: NodeJS.Timeout | undefined
  /** Ends each pause. */
  private readonly pauses = new Set<() => void>()

  get signal(): AbortSignal {
    return this.controller.signal
  }

  endAfter(ms: number): void {
    this.endsAt = clock.monotonic() + ms
    this.timer = setTimeout(() => this.abort(), ms)
    for (const look of this.pauses) look()
  }

  close(): void {
    clearTimeout(this.timer)
    this.abort()
  }

  allows(ms: number): boolean {
    return !this.signal.aborted && clock.monotonic() + ms <= this.endsAt
  }

  pause(ms: number): Promise<boolean> {
    if (ms <= 0) return Promise.resolve(true)
    const until = clock.monotonic() + ms
    return new Promise((resolve) => {
      const look = (): void => {
        const isOver = clock.monotonic() >= until
        if (!isOver && until <= this.endsAt && !this.signal.aborted) return
        clearTimeout(timer)
        this.pauses.delete(look)
        resolve(isOver)
      }
      const timer = setTimeout(look, ms + 1)
      this.pauses.add(look)
      look()
    })
  }

  private abort(): void {
    this.controller.abort()
    for (const look of [...this.pauses]) look()
  }
}
