/**
 * `recover`: every agent that may be owed something is repaired and marked, and what a person need not be asked for goes
 * on. Safe to run twice at once, and from cron at boot: an agent that another process holds is in good hands.
 */
import { SubstratError } from '../errors.js'
import { limits } from '../limits.js'
import type { Settled } from '../recovery/settle.js'
import { RECOVERY_TABLE, type Row } from '../recovery/table.js'
import { openForRead } from '../session/open-for-read.js'
import type { Session } from '../session/session.js'
import type { State } from '../session/state.js'
import { isInterrupted } from '../session/status.js'
import { OPERATOR } from '../storage/mailboxes.js'
import { resolveAgent } from '../tree/names.js'
import type { Context } from './context.js'
import { advance } from './go-on.js'
import { failureOf, nameOf, wasStopped } from './outcome.js'
import { eachOwed, forgetUnborn, markAgain } from './owed.js'
import { TurnBudget } from './turn-budget.js'
import { type RunView, viewRun } from './view.js'
import { visit } from './visit.js'

export type ContinuePolicy = 'roots' | 'all' | 'none'

export interface RecoveredAgent {
  agent: string
  name: string | null
  /** The row of the recovery table that was found, and that row in words. */
  row: Row | null
  found: string
  /** `held`: another process has it. `failed`: see the error. */
  outcome: 'clean' | 'marked' | 'continued' | 'held' | 'failed'
  run: RunView | null
  exit: number
  error: { code: string; message: string; hint: string | null } | null
}

export interface RecoverWords {
  /** Every agent that may be owed something: those that are marked, or each one after a new start of the kernel. */
  all: boolean
  /** As a person names them. */
  agents: string[]
}

export type RecoverListener = (recovered: RecoveredAgent, failure: SubstratError | undefined) => void

/** Calls back with each agent as it is done, in order; up to the slots they run side by side. */
export async function recover(
  ctx: Context,
  words: RecoverWords,
  policy: ContinuePolicy,
  onAgent: RecoverListener,
): Promise<void> {
  if (words.all === words.agents.length > 0) {
    throw new SubstratError('USAGE', 'recover takes the names of agents, or --all', {
      hint: 'substrat recover --all',
    })
  }
  if (!words.all)
    return visitEach(
      ctx,
      [...new Set(words.agents.map((word) => resolveAgent(ctx.store, word)))],
      policy,
      onAgent,
    )
  await eachOwed(ctx, async (ids) => {
    await visitEach(ctx, ids, policy, onAgent)
    return true
  })
}

async function visitEach(
  ctx: Context,
  ids: string[],
  policy: ContinuePolicy,
  onAgent: RecoverListener,
): Promise<void> {
  if (ids.length === 0) ctx.reporter.note('nothing was left to recover')
  const done: (Recovered | undefined)[] = new Array(ids.length)
  let begun = 0
  let told = 0
  const worker = async (): Promise<void> => {
    while (begun < ids.length) {
      const index = begun++
      done[index] = await recoverOne(ctx, ids[index] as string, policy)
      for (let next = done[told]; next !== undefined; next = done[told]) {
        onAgent(next.recovered, next.failure)
        told += 1
      }
    }
  }
  // Each is looked at before mail that this causes gives any of them a turn.
  ctx.deliveries.isPaused = true
  await Promise.all(Array.from({ length: Math.min(ctx.bounds.slotsMax, ids.length) }, worker))
  await ctx.deliveries.idle()
}

interface Recovered {
  recovered: RecoveredAgent
  failure: SubstratError | undefined
  /** Whether somebody has stopped the turn that it went on with, and wants the agent at rest. */
  isStopped?: boolean
}

async function recoverOne(ctx: Context, agentId: string, policy: ContinuePolicy): Promise<Recovered> {
  if (!ctx.store.hasAgent(agentId)) return neverBorn(ctx, agentId)
  try {
    const before = openForRead(ctx.store, agentId)?.state
    const goesOn = policy === 'all' || (policy === 'roots' && !(before !== undefined && isAwaited(before)))
    const recovered = await visit(ctx, agentId, { waitMs: 0, goesOn }, (session, settled) =>
      recoverSession(ctx, session, settled, goesOn),
    )
    if (goesOn && recovered.isStopped !== true && ctx.deliveries.isOwed(agentId)) ctx.deliveries.wake(agentId)
    return recovered
  } catch (error) {
    if (!(error instanceof SubstratError)) throw error
    if (error.code !== 'LOCKED') markAgain(ctx, agentId)
    const outcome = error.code === 'LOCKED' ? 'held' : 'failed'
    const failure = outcome === 'held' ? undefined : error
    return told({ agent: agentId, name: nameIn(ctx, agentId), row: null, outcome, run: null }, failure)
  }
}

async function recoverSession(
  ctx: Context,
  session: Session,
  settled: Settled,
  goesOn: boolean,
): Promise<Recovered> {
  const before = session.state
  const turns = goesOn ? await advance(ctx, session, settled, new TurnBudget(limits.turnsDrainedMax)) : 0
  const { id, name, run } = session.state
  const wasOwed = settled.row !== 'A' || isInterrupted(before)
  const failure =
    run === null || !(wasOwed || turns > 0)
      ? undefined
      : failureOf(nameOf(session.state), run, ctx.shutdown.requested)
  const outcome = turns > 0 ? 'continued' : settled.row === 'A' ? 'clean' : 'marked'
  const isStopped = turns > 0 && run !== null && wasStopped(run)
  const facts = {
    agent: id,
    name,
    row: settled.row,
    outcome,
    run: run === null ? null : viewRun(run),
  } as const
  return { ...told(facts, failure), isStopped }
}

/** A sub-agent that works for another: that one is told, and decides. */
function isAwaited({ parent, run }: State): boolean {
  return parent !== null && (run?.requests.some(({ from }) => from !== OPERATOR) ?? false)
}

/** A marker whose agent never came to be, or is gone. */
function neverBorn(ctx: Context, agentId: string): Recovered {
  forgetUnborn(ctx, agentId)
  return told({ agent: agentId, name: null, row: 'A', outcome: 'clean', run: null }, undefined)
}

function nameIn(ctx: Context, agentId: string): string | null {
  try {
    return openForRead(ctx.store, agentId)?.state.name ?? null
  } catch {
    return null
  }
}

function told(
  facts: Omit<RecoveredAgent, 'found' | 'exit' | 'error'>,
  failure: SubstratError | undefined,
): Recovered {
  const found = facts.row === null ? 'not looked at' : RECOVERY_TABLE[facts.row].found
  const error =
    failure === undefined
      ? null
      : { code: failure.code, message: failure.message, hint: failure.hint ?? null }
  return { recovered: { ...facts, found, exit: failure?.exitStatus ?? 0, error }, failure }
}
