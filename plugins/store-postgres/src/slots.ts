/**
 * Slots whose statement another one carries: a slot is taken with the agent whose turn needs it, and released with the batch that
 * follows its use.
 *
 * A process that dies before that batch leaves the slot as one that dies while it uses it.
 */
import type { Right, SlotPool } from 'substrat/store'
import type { Client } from './client.js'
import { uptimeMs } from './uptime.js'

export type SlotValues = [thing: string | null, lease: string | null]

const NONE: SlotValues = [null, null]

interface SlotRight extends Right {
  readonly key: string
  readonly deadlineMs: number
  /** Without a statement. */
  end(): void
}

export class Slots {
  /** For each agent, the slot that came with it and that no turn has used. */
  private readonly spare = new Map<string, SlotRight>()
  private ended = NONE

  constructor(private readonly client: Client) {}

  keep(agentId: string, right: SlotRight): void {
    this.spare.set(agentId, right)
  }

  /** A slot of the pool that came with an agent of this process. */
  takeSpare(pool: SlotPool): SlotRight | undefined {
    const things = thingsOf(pool)
    for (const [agentId, right] of this.spare) {
      if (!things.includes(right.key)) continue
      this.spare.delete(agentId)
      if (right.deadlineMs > uptimeMs()) return right
      right.end()
    }
    return undefined
  }

  releaseSpare(agentId: string): void {
    void this.spare.get(agentId)?.release()
    this.spare.delete(agentId)
  }

  /** The next statement for an agent releases the slot. Without one in this turn of the event loop, a statement of its own does. */
  end(thing: string, lease: string): void {
    this.flush()
    const ended: SlotValues = [thing, lease]
    this.ended = ended
    setImmediate(() => {
      if (this.ended === ended) this.flush()
    })
  }

  /** Calls `act` with the slot to release. */
  releasing<T>(act: (slot: SlotValues) => T): T {
    const slot = this.ended
    this.ended = NONE
    try {
      return act(slot)
    } catch (error) {
      const [thing, lease] = slot
      if (thing !== null && lease !== null) this.end(thing, lease)
      throw error
    }
  }

  /** Before this process looks for a free slot. */
  flush(): void {
    const ended = this.ended
    this.ended = NONE
    if (ended === NONE) return
    try {
      this.client.call('release_hold', ended)
    } catch {
      // It ends by itself when it is not renewed.
    }
  }
}

const PREFIX = 'slot/'

export function thingsOf({ pool, slots }: SlotPool): string[] {
  return Array.from({ length: slots }, (_, n) => `${PREFIX}${pool}/${n}`)
}

export function isSlot(thing: string): boolean {
  return thing.startsWith(PREFIX)
}
