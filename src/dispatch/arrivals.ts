/**
 * The order of messages that come while an agent works. A command that waits with a message comes before messages that were
 * stored after it began to wait, although the holder could take those at once.
 */
import { clock, sleep } from '../clock.js'
import { SubstratError } from '../errors.js'
import type { Session } from '../session/session.js'
import type { Store } from '../storage/store.js'

/** A living process that waits looks for the lock every 10 ms. */
const PASS_ON_MS = 1000

/** Agents with a waiting command that did not take them in time, such as a stopped process. It then waits its turn again. */
const stalled = new Set<string>()

/** Tries `take` at once. If the agent is busy, registers as waiting, so that the holder yields, while `take` waits. */
export async function inOrderOfArrival(
  store: Store,
  agentId: string,
  { command, waitMs }: { command: string; waitMs: number },
  take: (waitMs: number) => Promise<Session>,
): Promise<Session> {
  try {
    return await take(0)
  } catch (error) {
    if (waitMs === 0 || !(error instanceof SubstratError) || error.code !== 'LOCKED') throw error
  }
  const arrivedAt = new Date(clock.now()).toISOString()
  const arrival = await store.waits.arrive(agentId, command)
  try {
    const session = await take(waitMs)
    session.arrivedAt = arrivedAt
    return session
  } finally {
    await arrival.release()
  }
}

/** Whether a command waits for the agent since before this time. */
export function isAwaitedBefore(store: Store, agentId: string, time: string): boolean {
  return !stalled.has(agentId) && store.waits.arrivals(agentId).some((since) => since < time)
}

/** Call without the agent's lock. False if no waiting command takes the agent: then this process still has its messages. */
export async function passOn(store: Store, agentId: string): Promise<boolean> {
  const until = clock.monotonic() + PASS_ON_MS
  while (store.waits.arrivals(agentId).length > 0) {
    // Its new holder reads the inbox after its own turn.
    if (store.isHeld(agentId)) return true
    if (clock.monotonic() >= until) {
      stalled.add(agentId)
      return false
    }
    await sleep(5)
  }
  return store.isHeld(agentId)
}
