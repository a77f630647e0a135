/** Which agents need a visit: for commands that cron or the boot starts. */
import { reasonToVisit } from '../recovery/visit-reason.js'
import type { State } from '../session/state.js'
import type { FileStore } from '../storage/store.js'
import { lockRoots } from '../tree/children.js'
import type { Context } from './context.js'

/** Whether the agent needs another visit, so that its marker stays. */
export function needsVisit(store: FileStore, state: State): boolean {
  return reasonToVisit(store, state) !== undefined
}

/**
 * The marked agents; after a new start of the kernel every one, because markers are not synced. `work` says whether it
 * has looked at each: from then on the markers tell all.
 */
export async function withPendingAgents(
  ctx: Context,
  work: (ids: string[]) => Promise<boolean>,
): Promise<void> {
  const { store } = ctx
  store.sweepHome()
  if (store.boots.isScanned()) return void (await work(store.markedIds()))
  await repairNames(ctx)
  if (await work([...new Set([...store.agentIds(), ...store.markedIds()])])) store.boots.markScanned()
}

async function repairNames(ctx: Context): Promise<void> {
  if (ctx.store.rootNames().isComplete) return
  const { lock } = await lockRoots(ctx.store, ctx.command)
  await lock.release()
}

/** Removes the marker of an agent that was never created, or is gone. */
export function unmarkAbsent({ store }: Context, agentId: string): void {
  store.unmark(agentId, () => store.isSpawning(agentId) || store.hasAgent(agentId))
}

/** A marker brings the next command back to an agent that this one could not look at. */
export function markAgain({ store }: Context, agentId: string): void {
  try {
    store.mark(agentId)
  } catch {
    // The error that is told already says what is wrong with the disk.
  }
}
