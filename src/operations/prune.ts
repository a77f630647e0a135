/**
 * `prune`: removes old terminated agents that no other agent needs, the lowest first, and the old messages that the
 * operator took.
 */
import { clock } from '../clock.js'
import { refuseInTool } from '../dispatch/caller.js'
import type { Context } from '../dispatch/context.js'
import { SubstratError } from '../errors.js'
import type { PruneResult } from '../schema/output-overview.js'
import type { State } from '../session/state.js'
import { type Forest, lowestFirst, readForest } from '../tree/forest.js'
import { childObstacle, flushTerminated, isGone, removalObstacle, removeAgent } from './removable.js'

export async function prune(ctx: Context, olderThanMs: number, isDryRun: boolean): Promise<PruneResult> {
  refuseInTool(ctx.caller, 'prune a home')
  const { store } = ctx
  const beforeMs = clock.now() - olderThanMs
  const forest = readForest(store)
  const result: PruneResult = { dry_run: isDryRun, removed: [], kept: [], messages: 0 }
  const gone = new Set<string>()
  for (const state of oldOnes(forest, beforeMs)) {
    const why = await whyNot(ctx, forest, state, gone, isDryRun)
    const { id, path } = state
    if (why === undefined) {
      gone.add(id)
      result.removed.push({ id, path })
    } else result.kept.push({ id, path, why })
  }
  result.messages = store.mail.forgetTaken(Math.min(beforeMs, repeatsSince(forest)), isDryRun)
  return result
}

/** Each agent comes after all agents below it. */
function oldOnes(forest: Forest, beforeMs: number): State[] {
  const tops = [...forest.roots, ...forest.strays.keys()]
  const order = [...new Set(tops.flatMap((id) => lowestFirst(forest, id)))]
  const states = order.map((id) => forest.agents.get(id)).filter((state) => state !== undefined)
  return states.filter(({ state, updated_at }) => state === 'terminated' && Date.parse(updated_at) < beforeMs)
}

/** Undefined if the agent was removed, or would be. An agent that cannot be removed does not stop the others. */
async function whyNot(
  ctx: Context,
  forest: Forest,
  state: State,
  gone: Set<string>,
  isDryRun: boolean,
): Promise<string | undefined> {
  const child = childObstacle(forest, state.id, (id) => gone.has(id))
  if (child !== undefined) return child.why
  try {
    if (isDryRun) return removalObstacle(ctx.store, state)?.why
    await flushTerminated(ctx, state)
    await removeAgent(ctx, state)
    return undefined
  } catch (error) {
    if (isGone(error)) return undefined
    if (!(error instanceof SubstratError) || ['STORAGE_FAILED', 'SYNC_FAILED'].includes(error.code))
      throw error
    return error.message
  }
}

/**
 * An agent with an unfinished turn may post a message of that turn again, with the same id. So the ids that the
 * operator took since the start of that turn must not be forgotten.
 */
function repeatsSince({ agents }: Forest): number {
  const times = [...agents.values()].flatMap(({ owes, run, created_at, recovery }) => {
    if (owes.length > 0) return [Date.parse(created_at)]
    const isUnfinished = run?.status === 'open' || recovery.interruption !== null
    return run !== null && isUnfinished ? [Date.parse(run.started_at)] : []
  })
  return Math.min(Number.POSITIVE_INFINITY, ...times)
}
