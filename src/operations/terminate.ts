/**
 * `terminate`: ends an agent for ever, alone or with all agents below it, the lowest first.
 *
 * On disk after a crash: some agents are terminated, each without a living agent below it. The next call ends the rest.
 * One hold of the children lock covers both the check that a parent has no living child and the record of its end, so
 * no agent is spawned below it in between. A process that holds the children lock never waits for an agent's lock, so
 * waiting for the children lock within a visit cannot deadlock.
 */
import { clock } from '../clock.js'
import { checkReach } from '../dispatch/caller.js'
import type { Context } from '../dispatch/context.js'
import { readState } from '../dispatch/read-state.js'
import { SubstratError } from '../errors.js'
import { stopKeptServer, terminateSession } from '../provider/kept-server.js'
import type { AgentView } from '../schema/output.js'
import { openForRead } from '../session/load.js'
import type { Session } from '../session/session.js'
import { isAtWork } from '../session/status.js'
import { checkChildless, livingBelow, lockChildren } from '../tree/children.js'
import { cancelRecords } from './cancel.js'
import { requestStop, stopAndVisit } from './stop-agent.js'

/** Calls back with each terminated agent. Throws HAS_CHILDREN, TREE_RULES. */
export async function terminate(
  ctx: Context,
  agentId: string,
  isRecursive: boolean,
  onTerminated: (agent: AgentView) => void,
): Promise<void> {
  checkReach(ctx.store, ctx.caller, agentId, 'terminate')
  // A child that ends may send an error to its parent, which must not start a turn: the parent is about to end.
  const paused = ctx.deliveries.contextUnder({ isPaused: true })
  if (isRecursive) await terminateAll(paused, agentId, onTerminated)
  else onTerminated(await terminateOne(paused, agentId))
}

/** Limit on consecutive rounds that find the same agents. */
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
    // Ask from the top down and all at once, so that agents that could spawn more stop first.
    for (const { id } of living.toReversed()) askIfHeld(ctx, id)
    try {
      for (const { id } of living) onTerminated(await terminateOne(ctx, id))
      return
    } catch (error) {
      // If a child was spawned meanwhile, repeat with it. A forged cycle has no lowest agent, so the rounds are
      // limited.
      const ids = living.map(({ id }) => id).join()
      repeats = ids === before ? repeats + 1 : 0
      before = ids
      if (!hasNewChild(error) || repeats === REPEATS_MAX || clock.monotonic() >= until) throw error
    }
  }
}

async function terminateOne(ctx: Context, agentId: string): Promise<AgentView> {
  const before = readState(ctx.store, agentId)
  // Check before the stop request, which would otherwise end a turn without need.
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
  if (state !== undefined && isAtWork(state) && ctx.store.isHeld(agentId))
    requestStop(ctx, agentId, 'terminate')
}

function hasNewChild(error: unknown): boolean {
  return error instanceof SubstratError && error.code === 'HAS_CHILDREN'
}
