/**
 * Waits of one agent for another: no two may wait for one another, by way of however many others.
 *
 * What is on disk if the process dies: the edge, without a living holder. It counts no more, and the next sweep removes it.
 */
import { SubstratError } from '../errors.js'
import type { FileStore } from '../storage/store.js'

export type WaitEdge = Awaited<ReturnType<FileStore['waits']['add']>>

/**
 * The edge of the wait, to be released at its end. It is on disk before the check for a cycle, so that of those who would wait
 * for one another at least one is refused. Throws DEADLOCK.
 */
export async function beginWait(
  store: FileStore,
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

/** Throws DEADLOCK where the agent to be waited for waits, by way of however many others, for the waiter. */
export function checkNoCycle(store: FileStore, waiterId: string, to: string): void {
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
