/**
 * `terminate`: an agent ended for good, alone or with all below it, the lowest first.
 *
 * What is on disk if we die: some agents are terminated, each with none living below it, and the next call ends the
 * rest. That a parent has no living child is looked at, and its end is recorded, under the lock of its children: no
 * agent is spawned below it in between. Nobody waits for an agent's lock with that one in hand, so it can be waited for
 * within the visit.
 */
import { clock } from '../clock.js'
import { checkReach } from '../dispatch/caller.js'
import type { Context } from '../dispatch/context.js'
import { readState } from '../dispatch/read-state.js'
import type { AgentView } from '../dispatch/view.js'
import { SubstratError } from '../errors.js'
import { stopKeptServer, terminateSession } from '../provider/kept-server.js'
import { openForRead } from '../session/load.js'
import type { Session } from '../session/session.js'
import { isAtWork } from '../session/status.js'
import { checkChildless, livingBelow, lockChildren } from '../tree/children.js'
import { cancelRecords } from './cancel.js'
import { requestStop, stopAndVisit } from './stop-agent.js'

/** Calls back with each agent once it is terminated. Throws HAS_CHILDREN, TREE_RULES. */
export async function terminate(
  ctx: Context,
  agentId: string,
  isRecursive: boolean,
  onTerminated: (agent: AgentView) => void,
): Promise<void> {
  checkReach(ctx.store, ctx.caller, agentId, 'terminate')
  // An error that a child's end sends up must not begin a turn of a parent that is about to end.
  const paused = ctx.deliveries.contextUnder({ isPaused: true })
  if (isRecursive) await terminateAll(paused, agentId, onTerminated)
  else onTerminated(await terminateOne(paused, agentId))
}

/** Rounds that found the same agents again. */
const REPEATS_MAX = 3

async function terminateAll(
  ctx: Context,
  agentId: string,
  onTerminated: (agent: AgentView) => void,
): Promise<void> {
  const until = clock.monotonic() + ctx.bounds.waitMs
  let before = ''
  let repeats = 0
  for (;;) {
    const living = livingBelow(ctx.store, readState(ctx.store, agentId))
    // From the top, so that those that could make more of them stop first; and all side by side.
    for (const { id } of living.toReversed()) askIfHeld(ctx, id)
    try {
      for (const { id } of living) onTerminated(await terminateOne(ctx, id))
      return
    } catch (error) {
      // One was spawned meanwhile: once more, with that one. In a cycle that was forged on disk nobody is the lowest.
      const ids = living.map(({ id }) => id).join()
      repeats = ids === before ? repeats + 1 : 0
      before = ids
      if (!hasNewChild(error) || repeats === REPEATS_MAX || clock.monotonic() >= until) throw error
    }
  }
}

async function terminateOne(ctx: Context, agentId: string): Promise<AgentView> {
  const before = readState(ctx.store, agentId)
  // Before its turn is asked to stop for nothing.
  if (before.state !== 'terminated') checkChildless(ctx.store, before, 'terminate')
  return stopAndVisit(ctx, agentId, 'terminate', (session) => end(ctx, session))
}

async function end(ctx: Context, session: Session): Promise<void> {
  if (session.state.state === 'terminated') return
  await stopKeptServer(session, (text) => ctx.reporter.note(text))
  const { lock } = await lockChildren(ctx.store, session.id, ctx.command)
  try {
    checkChildless(ctx.store, session.state, 'terminate')
    terminateSession(session, cancelRecords(session.state, 'terminated'))
  } finally {
    await lock.release()
  }
}

function askIfHeld(ctx: Context, agentId: string): void {
  const state = openForRead(ctx.store, agentId)?.state
  if (state !== undefined && isAtWork(state) && ctx.store.isAgentHeld(agentId))
    requestStop(ctx, agentId, 'terminate')
}

function hasNewChild(error: unknown): boolean {
  return error instanceof SubstratError && error.code === 'HAS_CHILDREN'
}
