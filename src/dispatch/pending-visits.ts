/** The agents that need a visit, for commands that cron or a boot script runs. */
import { reasonInState, returnsMail } from '../recovery/visit-reason.js'
import type { State } from '../session/state.js'
import type { Store } from '../storage/store.js'
import { discardDangling, lockRoots } from '../tree/children.js'
import type { Context } from './context.js'

/** Whether the agent needs another visit, also if it has no mail to read. Its marker then stays. */
export function needsVisit(store: Store, state: State): boolean {
  return reasonInState(state) !== undefined || returnsMail(store, state)
}

/**
 * Passes the marked agents to `work`. After a boot, and with `visitsAll`, passes every agent, because markers are not synced. `work` returns
 * whether it visited every agent; from then on the markers are complete.
 */
export async function withPendingAgents(
  ctx: Context,
  work: (ids: string[]) => Promise<boolean>,
  visitsAll = false,
): Promise<void> {
  const { store } = ctx
  store.visits.sweep()
  if (store.visits.isComplete && !visitsAll) return void (await work(store.visits.markedIds()))
  await repairNames(ctx)
  // A power cut may bring back the entry of a removed agent. No marker leads to it.
  if (!store.visits.isComplete) await discardDangling(store, ctx.command)
  if (await work([...new Set([...store.agentIds(), ...store.visits.markedIds()])]))
    store.visits.markComplete()
}

async function repairNames(ctx: Context): Promise<void> {
  if (ctx.store.names(null).isComplete) return
  const { lock } = await lockRoots(ctx.store, ctx.command)
  await lock.release()
}

/**
 * Removes what a dead spawn or removal left of agents that do not exist: their entries in name indexes, then their markers. After a
 * kill in between, the markers are still there.
 */
export async function forgetAbsent({ store, command }: Context, agentIds: string[]): Promise<void> {
  if (agentIds.length === 0 || !(await discardDangling(store, command))) return
  for (const id of agentIds) store.visits.unmarkAbsent(id)
}

/** Marks an agent that this command could not visit, so that the next one does. */
export function markAgain({ store }: Context, agentId: string): void {
  try {
    store.visits.mark(agentId)
  } catch {
    // The command already reports an error of the disk.
  }
}
