/**
 * `recover`: repairs every agent that may need a visit, records interrupted turns, and continues those that need no
 * decision of a person. It may run twice at once, and from cron at boot: it leaves an agent that another process holds
 * to that process.
 */

import { advance } from '../dispatch/advance.js'
import type { Context } from '../dispatch/context.js'
import { stopAllKeptServers } from '../dispatch/kept-servers.js'
import { failureOfLatest, wasStopped } from '../dispatch/outcome.js'
import { forgetAbsent, markAgain, withPendingAgents } from '../dispatch/pending-visits.js'
import { resultEnd } from '../dispatch/result-end.js'
import { markTick } from '../dispatch/ticker.js'
import { TurnBudget } from '../dispatch/turn-budget.js'
import { turnObstacle } from '../dispatch/turn-obstacle.js'
import { viewAgent, viewRun } from '../dispatch/view.js'
import { visit } from '../dispatch/visit.js'
import { SubstratError } from '../errors.js'
import { OPERATOR } from '../format.js'
import { limits } from '../limits.js'
import { stopKeptServer } from '../provider/kept-server.js'
import type { SettleResult } from '../recovery/settle.js'
import { RECOVERY_TABLE } from '../recovery/table.js'
import type { RecoveredAgent, ResultEnd } from '../schema/output.js'
import { stoppedHolder } from '../session/busy.js'
import { readableState } from '../session/peek-state.js'
import type { Session } from '../session/session.js'
import { isInterrupted, needsPerson } from '../session/status.js'
import { resolveAgent } from '../tree/names.js'
import { declareHostGone } from './host-gone.js'
import { recoveryText } from './recovery-text.js'

export type ContinuePolicy = 'roots' | 'all' | 'none'

export interface RecoverWords {
  /** Every agent that may need a visit: the marked ones or, after a boot, every agent. */
  all: boolean
  /** The agents as the user named them. */
  agents: string[]
  /** The id or name of a host whose processes the user declares dead. */
  hostGone?: string | undefined
}

/** `words`: a description of the finding and the repair, for text output. */
export type RecoverListener = (
  recovered: RecoveredAgent,
  failure: SubstratError | undefined,
  words: string,
) => void

/** Calls back with each finished agent, in order. At most `slots_max` agents run in parallel. */
export async function recover(
  command: Context,
  words: RecoverWords,
  policy: ContinuePolicy,
  onAgent: RecoverListener,
): Promise<void> {
  const { hostGone } = words
  const isAll = words.all || (hostGone !== undefined && words.agents.length === 0)
  if (isAll === words.agents.length > 0) {
    throw new SubstratError('USAGE', 'recover needs either agents or --all', {
      hint: 'substrat recover --all',
    })
  }
  if (hostGone !== undefined) declareHostGone(command, hostGone)
  // Visit every agent before mail from these visits starts a turn. No kept server remains after `recover`.
  const ctx = command.deliveries.contextUnder(
    { isPaused: true },
    { keptServers: { ...command.keptServers, keeps: false } },
  )
  if (!isAll)
    return recoverEach(
      ctx,
      [...new Set(words.agents.map((word) => resolveAgent(ctx.store, word)))],
      policy,
      onAgent,
    )
  if (policy !== 'none') markTick(ctx.store)
  await withPendingAgents(
    ctx,
    async (ids) => {
      await recoverEach(ctx, ids, policy, onAgent)
      return true
    },
    hostGone !== undefined,
  )
  await stopAllKeptServers(ctx)
}

async function recoverEach(
  ctx: Context,
  ids: string[],
  policy: ContinuePolicy,
  onAgent: RecoverListener,
): Promise<void> {
  if (ids.length === 0) ctx.reporter.note('nothing to recover')
  const done: (Recovered | undefined)[] = new Array(ids.length)
  // Decide before the first visit, so that the choice does not depend on the order of the visits.
  const continuesTurn = ids.map((id) => policy === 'all' || (policy === 'roots' && !isLeft(ctx, id)))
  let begun = 0
  let ended = 0
  let reported = 0
  ctx.reporter.count('agents visited', 0, ids.length)
  const worker = async (): Promise<void> => {
    while (begun < ids.length) {
      const index = begun++
      done[index] = await recoverOne(ctx, ids[index] as string, continuesTurn[index] as boolean)
      ctx.reporter.count('agents visited', ++ended, ids.length)
      for (let next = done[reported]; next !== undefined; next = done[reported]) {
        onAgent(next.recovered, next.failure, next.words)
        reported += 1
      }
    }
  }
  await Promise.all(Array.from({ length: Math.min(ctx.bounds.slotsMax, ids.length) }, worker))
  await ctx.deliveries.untilIdle()
}

interface Recovered {
  recovered: RecoveredAgent
  failure: SubstratError | undefined
  words: string
  /** Whether another command stopped the continued turn; then the agent gets no further turn. */
  isStopped?: boolean
}

async function recoverOne(ctx: Context, agentId: string, continuesTurn: boolean): Promise<Recovered> {
  if (!ctx.store.hasAgent(agentId)) return recoverAbsent(ctx, agentId)
  try {
    const recovered = await visit(ctx, agentId, { waitMs: 0, continuesTurn }, (session, settled) =>
      recoverSession(ctx, session, settled, continuesTurn),
    )
    if (continuesTurn && recovered.isStopped !== true && ctx.deliveries.hasWork(agentId))
      ctx.deliveries.wake(agentId)
    return recovered
  } catch (error) {
    if (!(error instanceof SubstratError)) throw error
    if (error.code !== 'LOCKED') markAgain(ctx, agentId)
    // A home that takes no agent for a while says until when.
    const outcome = error.code === 'LOCKED' && error.facts.until === undefined ? 'held' : 'failed'
    const failure = outcome === 'held' ? undefined : error
    const words = outcome === 'held' ? heldWords(ctx, agentId) : 'cannot be recovered'
    const state = readableState(ctx.store, agentId)
    const facts = {
      agent: agentId,
      name: state?.name ?? null,
      row: null,
      outcome,
      run: null,
      shown_status: state === undefined ? 'corrupt' : viewAgent(ctx.store, state).shown_status,
    } as const
    return recoveredResult(facts, failure, words)
  }
}

function heldWords({ store }: Context, agentId: string): string {
  const stopped = stoppedHolder(store, agentId)
  if (stopped === undefined) return 'another process is running it'
  return `its process, pid ${stopped.holder.pid}, ${stopped.what}; ${stopped.advice}`
}

async function recoverSession(
  ctx: Context,
  session: Session,
  settled: SettleResult,
  continuesTurn: boolean,
): Promise<Recovered> {
  const found = session.state
  await stopKeptServer(session, (text) => ctx.reporter.note(text))
  const turns = continuesTurn
    ? await advance(ctx, session, settled, new TurnBudget(limits.turnsDrainedMax))
    : 0
  const { state } = session
  const { id, name, run } = state
  const isCutShort = isInterrupted(state) || needsPerson(state)
  const wasOwed = settled.row !== 'A' || isInterrupted(found) || isCutShort
  const failure =
    run === null || !(wasOwed || turns > 0)
      ? undefined
      : failureOfLatest(ctx.store, state, run, ctx.shutdown.requested)
  const outcome = turns > 0 ? 'continued' : settled.row === 'A' && !isCutShort ? 'clean' : 'marked'
  const isStopped = turns > 0 && run !== null && wasStopped(run)
  const facts = {
    agent: id,
    name,
    row: settled.row,
    outcome,
    run: run === null ? null : viewRun(run),
    shown_status: viewAgent(ctx.store, state).shown_status,
  } as const
  return {
    ...recoveredResult(facts, failure, recoveryText(ctx.store, state, settled.row, outcome)),
    isStopped,
  }
}

/**
 * Whether an interrupted child must not continue: an agent that asked for its reply is on hold or needs a person, whose
 * decision also covers the request. The child continues once an agent asks for its reply again; until then, no error is
 * sent.
 */
function isLeft(ctx: Context, agentId: string): boolean {
  const state = readableState(ctx.store, agentId)
  if (state === undefined || state.parent === null) return false
  return (state.run?.requests ?? []).some(({ from }) => {
    const asker = from === OPERATOR ? undefined : readableState(ctx.store, from)
    if (asker === undefined) return false
    return turnObstacle(ctx.store, asker, 'message')?.kind === 'hold' || needsPerson(asker)
  })
}

/** The agent was never created, or was removed. */
async function recoverAbsent(ctx: Context, agentId: string): Promise<Recovered> {
  await forgetAbsent(ctx, [agentId])
  const absent = { name: null, row: 'A', outcome: 'clean', run: null, shown_status: null } as const
  const facts = { agent: agentId, ...absent }
  return recoveredResult(facts, undefined, 'nothing to do')
}

function recoveredResult(
  facts: Omit<RecoveredAgent, 'found' | keyof ResultEnd>,
  failure: SubstratError | undefined,
  words: string,
): Recovered {
  const found = facts.row === null ? 'not checked' : RECOVERY_TABLE[facts.row].found
  return { recovered: { ...facts, found, ...resultEnd(failure) }, failure, words }
}
