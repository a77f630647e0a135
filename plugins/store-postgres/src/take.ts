/** Takes an agent. A dead holder under this kernel is replaced at once, but only if it still is the holder then. */
import type { Holder, TakeOptions } from 'substrat/store'
import { type Distrust, distrusted } from './failure.js'
import type { Row } from './protocol.js'
import { call, HeldRight, isDeadHere, ownHolder, type Shared } from './rights.js'
import { thingsOf } from './slots.js'
import { uptimeMs } from './uptime.js'

export interface Taken {
  right: HeldRight
  /** The agent as it was then. */
  row: Row
}

/** `opens`: marks the agent and reads it. `leftMs`: how long to wait for a lock. Undefined if another process holds it. */
export function tryTake(
  shared: Shared,
  agentId: string,
  { command, slots }: TakeOptions,
  { opens, leftMs }: { opens: boolean; leftMs: number },
): Taken | undefined {
  const { kit, client } = shared
  const [lease, slotLease] = [kit.randomUuid(), kit.randomUuid()]
  const things = slots === undefined ? null : thingsOf(slots)
  const { kernel_boot_id: bootId } = kit.ownIdentity()
  for (let dead: string | null = null; ; ) {
    const sentMs = uptimeMs()
    const holder = ownHolder(shared, command)
    const waitMs = Math.ceil(Math.min(leftMs, client.ttlMs / 4))
    const seen = shared.seen?.change ?? 0
    const values = [
      agentId,
      lease,
      dead,
      holder,
      client.ttlMs,
      bootId,
      opens,
      things,
      slotLease,
      waitMs,
      seen,
    ]
    // Another transaction that has locked the agent counts like a holder: this process asks again, as long as it waits for one.
    const [row] = call(shared, agentId, () => client.call('take', values, { lockUntilMs: 0 }))
    if (row?.distrusted != null) throw distrusted(kit, row.distrusted as Distrust)
    if (row?.got === true) {
      const right = new HeldRight(shared, 'agent', agentId, lease, sentMs)
      if (!right.isCurrent) {
        void right.release()
        return undefined
      }
      if (typeof row.slot === 'string')
        shared.slots.keep(agentId, new HeldRight(shared, 'thing', row.slot, slotLease, sentMs))
      return { right, row }
    }
    const other = row?.lease as string
    if (dead === other || !isDeadHere(shared, row?.holder as Holder)) return undefined
    dead = other
  }
}
