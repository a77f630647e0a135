/**
 * Waits of one agent for another. Each wait is an edge on disk, and the edges may not form a cycle of any length.
 *
 * On disk after a crash: the edge, without a living holder. It no longer counts, and the next sweep removes it.
 */
import { SubstratError } from '../errors.js'
import type { Store } from '../storage/store.js'

export type WaitEdge = Awaited<ReturnType<Store['waits']['add']>>

/**
 * Returns the edge, which the caller releases when the wait ends. The edge is on disk before the check for a cycle, so
 * at least one of several agents that would wait for each other is refused. Throws DEADLOCK.
 */
export async function beginWait(
  store: Store,
  waiterId: string,
  to: string,
  command: string,
): Promise<WaitEdge> {
  const edge = await store.waits.add(waiterId, to, command)
  try {
    checkNoCycle(store, waiterId, to)
    return edge
  } catch (error) {
    await edge.release()
    throw error
  }
}

/** Throws DEADLOCK if `to` waits for the waiter, directly or through other agents. */
export function checkNoCycle(store: Store, waiterId: string, to: string): void {
  const seen = new Set<string>()
  const next = [to]
  for (let id = next.pop(); id !== undefined; id = next.pop()) {
    if (id === waiterId) {
      throw new SubstratError(
        'DEADLOCK',
        'this wait would be a deadlock: the other agent is already waiting for this one',
        {
          hint: 'send without waiting; the reply arrives as a message',
          facts: { agent_id: waiterId, to },
        },
      )
    }
    if (seen.has(id)) continue
    seen.add(id)
    next.push(...store.waits.edgesOf(id))
  }
}
