/**
 * `deliver`: runs turns for pending mail and continues interrupted turns, at every level of the tree; meant for cron.
 * The number of turns is not limited. Two commands may run at once: each leaves an agent that another process holds to
 * it.
 */

import type { Context, VisitResult } from '../dispatch/context.js'
import { shareAmongWorkers } from '../dispatch/delivery-workers.js'
import { limitKeptServers } from '../dispatch/kept-servers.js'
import { failureOfLatest } from '../dispatch/outcome.js'
import { forgetAbsent, markAgain, withPendingAgents } from '../dispatch/pending-visits.js'
import { readState } from '../dispatch/read-state.js'
import { resultEnd } from '../dispatch/result-end.js'
import { beginTicks, markTick } from '../dispatch/ticker.js'
import { viewAgent, viewRun } from '../dispatch/view.js'
import { SubstratError } from '../errors.js'
import type { DeliveredAgent, ResultEnd } from '../schema/output.js'
import { stoppedText } from '../session/busy.js'
import type { State } from '../session/state.js'
import { isInterrupted } from '../session/status.js'
import { whyStuck } from './stuck.js'

export interface DeliverRequest {
  /** Every agent that may need a visit. */
  all: boolean
  agentIds: string[]
  /** The program to start worker processes with. Undefined: this process delivers all. */
  script?: string | undefined
}

export type DeliverListener = (delivered: DeliveredAgent, failure: SubstratError | undefined) => void

/**
 * Calls back at the end: first with the named agents in order, or with those that needed a visit; then with the agents
 * that received mail from their turns.
 */
export async function deliver(
  command: Context,
  { all, agentIds, script }: DeliverRequest,
  onAgent: DeliverListener,
): Promise<void> {
  const visits = new Map<string, VisitResult>()
  const onVisited = (agentId: string, visited: VisitResult): void => {
    visits.set(agentId, sumOf(visits.get(agentId), visited))
    if (all) command.reporter.count('agents visited', visits.size, total)
  }
  const ctx = command.deliveries.contextUnder({ turnsMax: Number.POSITIVE_INFINITY, onVisited })
  let reported = 0
  let total = 0
  const work = async (ids: string[]): Promise<boolean> => {
    const agents = ids.filter((id) => ctx.store.hasAgent(id))
    const there = new Set(agents)
    await forgetAbsent(
      ctx,
      ids.filter((id) => !there.has(id)),
    )
    total = agents.length
    if (all) command.reporter.count('agents visited', visits.size, total)
    if (script !== undefined) await shareAmongWorkers(ctx, agents, script, onVisited)
    for (const id of agents) if (!visits.has(id)) ctx.deliveries.wake(id)
    await ctx.deliveries.untilIdle()
    for (const id of new Set([...ids, ...visits.keys()])) {
      const visited = visits.get(id)
      if (visited?.error !== undefined) markAgain(ctx, id)
      const delivered = ctx.store.hasAgent(id)
        ? deliveredAgent(ctx, id, visited, agentIds.includes(id))
        : undefined
      if (delivered === undefined) continue
      onAgent(delivered.delivered, delivered.failure)
      reported += 1
    }
    return ids.every((id) => visits.has(id) || !ctx.store.hasAgent(id))
  }
  if (all) {
    markTick(ctx.store)
    await withPendingAgents(ctx, work)
  } else await work(agentIds)
  if (all) await limitKeptServers(ctx)
  if (reported === 0) ctx.reporter.note('nothing to deliver')
}

/** The ids of the named agents, without duplicates. Throws USAGE. */
export function namedAgents(words: string[], all: boolean, resolve: (word: string) => string): string[] {
  if (all === words.length > 0)
    throw new SubstratError('USAGE', 'deliver needs either an agent or --all', {
      hint: 'substrat deliver --all',
    })
  return [...new Set(words.map(resolve))]
}

function sumOf(before: VisitResult | undefined, { turns, isHeld, error }: VisitResult): VisitResult {
  return { turns: (before?.turns ?? 0) + turns, isHeld, error: error ?? before?.error }
}

interface Delivered {
  delivered: DeliveredAgent
  failure: SubstratError | undefined
}

/** Undefined if the agent was not named and there is nothing to report about it. */
function deliveredAgent(
  ctx: Context,
  agentId: string,
  visited: VisitResult | undefined,
  isNamed: boolean,
): Delivered | undefined {
  const turns = visited?.turns ?? 0
  let state: State
  try {
    state = readState(ctx.store, agentId)
  } catch (error) {
    if (!(error instanceof SubstratError)) throw error
    return unreadableAgent(agentId, turns, visited?.error ?? error)
  }
  // A schedule that came with a moved agent.
  if (state.schedules !== undefined) beginTicks(ctx.store)
  const { path, run } = state
  const { status, shown_status, inbox } = viewAgent(ctx.store, state)
  const ofRun =
    run === null || !(turns > 0 || isInterrupted(state))
      ? undefined
      : failureOfLatest(ctx.store, state, run, ctx.shutdown.requested)
  const isHeld = visited?.isHeld === true
  const stopped = isHeld ? stoppedText(ctx.store, agentId) : undefined
  if (stopped !== undefined) ctx.reporter.note(stopped)
  const failure = isHeld
    ? undefined
    : (visited?.error ?? ofRun ?? (isNamed ? whyStuck(ctx.store, state) : undefined))
  if (!isNamed && turns === 0 && inbox === 0 && failure === undefined && !isHeld) return undefined
  return deliveredResult(
    { agent: agentId, path, turns, status, shown_status, inbox, run: run && viewRun(run) },
    failure,
  )
}

function unreadableAgent(agent: string, turns: number, error: SubstratError): Delivered {
  const status = 'corrupt'
  return deliveredResult(
    { agent, path: null, turns, status, shown_status: status, inbox: 0, run: null },
    error,
  )
}

function deliveredResult(
  facts: Omit<DeliveredAgent, keyof ResultEnd>,
  failure: SubstratError | undefined,
): Delivered {
  return { delivered: { ...facts, ...resultEnd(failure) }, failure }
}
