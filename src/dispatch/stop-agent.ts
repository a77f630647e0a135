/**
 * `suspend` and `terminate`: an agent brought to rest. A turn that runs in another process is asked by a request file to
 * stop cleanly, and waited for.
 */
import { sleep } from '../clock.js'
import { SessionStateError, SubstratError } from '../errors.js'
import { countPending } from '../mail/inbox.js'
import { openForRead } from '../session/open-for-read.js'
import type { NewRecord } from '../session/records.js'
import type { Session } from '../session/session.js'
import type { State } from '../session/state.js'
import { bootId } from '../storage/identity.js'
import type { RequestVerb } from '../storage/store.js'
import { resolveAgent } from '../tree/names.js'
import { revoked, withdrawn } from '../turn/step-calls.js'
import type { Context } from './context.js'
import { nameOf, wordOf } from './outcome.js'
import { type AgentView, viewAgent } from './view.js'
import { visit } from './visit.js'

/** With `hold`, nothing is delivered until `resume`. */
export function suspend(ctx: Context, agentId: string, hold: boolean): Promise<AgentView> {
  return visitStopped(ctx, agentId, 'suspend', (session) => {
    const { state } = session
    if (state.state === 'terminated') {
      throw new SessionStateError(`${nameOf(state)} is terminated: it cannot be suspended`, {
        hint: `read what it said: substrat log ${wordOf(state)}`,
        facts: { agent_id: state.id, state: state.state },
      })
    }
    const records: NewRecord[] = []
    if (state.state === 'created') records.push({ kind: 'session.activated', boot_id: bootId() })
    if (state.state !== 'suspended') records.push({ kind: 'session.suspended', reason: 'requested' })
    if (hold && !state.hold) records.push({ kind: 'session.configured', hold: true })
    session.append(records)
  })
}

export function terminate(ctx: Context, agentId: string): Promise<AgentView> {
  return visitStopped(ctx, agentId, 'terminate', (session) => {
    const { state } = session
    if (state.state === 'terminated') return
    const waiting = countPending(ctx.store, state)
    session.append([...cancelled(state, 'terminated'), { kind: 'session.terminated' }])
    if (waiting > 0)
      ctx.reporter.note(`${waiting} queued message(s) were never delivered; they stay in its inbox directory`)
  })
}

export interface CancelledAgent {
  agent: AgentView
  /** Whether there was a turn to cancel. */
  cancelled: boolean
}

/** One by name, or each that has a turn. */
export async function cancelAgents(
  ctx: Context,
  words: { all: boolean; agents: string[] },
): Promise<CancelledAgent[]> {
  if (words.all === words.agents.length > 0) {
    throw new SubstratError('USAGE', 'cancel takes the name of an agent, or --all', {
      hint: 'substrat cancel --all',
    })
  }
  const ids = words.all
    ? ctx.store.markedIds().filter((id) => hasTurn(ctx, id))
    : words.agents.map((word) => resolveAgent(ctx.store, word))
  return Promise.all(ids.map((id) => cancel(ctx, id)))
}

/** A marker may stand where nothing runs, and an agent that cannot be read has no turn that could be cancelled. */
function hasTurn(ctx: Context, agentId: string): boolean {
  try {
    return openForRead(ctx.store, agentId)?.state.run?.status === 'open'
  } catch {
    return false
  }
}

/** The turn that runs, or waits, comes to an end; what is in the inbox stays there. Says whether there was one. */
async function cancel(ctx: Context, agentId: string): Promise<CancelledAgent> {
  const before = openForRead(ctx.store, agentId)?.state.run
  const agent = await visitStopped(ctx, agentId, 'cancel', (session) =>
    session.append(cancelled(session.state, 'cancelled')),
  )
  const after = openForRead(ctx.store, agentId)?.state.run
  const isCancelled =
    before?.status === 'open' && after?.run_id === before.run_id && after.status === 'cancelled'
  return { agent, cancelled: isCancelled }
}

/** The end of a run that waits, or that a dead process left: its token is worth nothing, each of its calls has a result. */
function cancelled(state: State, reason: NewRecord<'run.cancelled'>['reason']): NewRecord[] {
  const { run } = state
  if (run?.status !== 'open') return []
  const why = reason === 'terminated' ? 'the agent was terminated' : 'the turn was cancelled'
  return [
    ...revoked(state, run, 'ended'),
    ...withdrawn(run, why),
    { kind: 'run.cancelled', run_id: run.run_id, reason },
  ]
}

/** Asks the holder's turn to stop until the lock is ours, or the time is up. */
async function visitStopped(
  ctx: Context,
  agentId: string,
  verb: RequestVerb,
  work: (session: Session) => void,
): Promise<AgentView> {
  const end = performance.now() + ctx.bounds.waitMs
  for (let asked: string | undefined; ; await sleep(20)) {
    try {
      // What a dead process left open is ended by the command itself, not only marked: nothing goes on with it later.
      const goesOn = verb !== 'suspend'
      return await visit(ctx, agentId, { waitMs: 0, goesOn }, async (session) => {
        work(session)
        return viewAgent(ctx.store, session.state)
      })
    } catch (error) {
      if (!(error instanceof SubstratError) || error.code !== 'LOCKED' || performance.now() >= end)
        throw error
      asked = ask(ctx, agentId, verb, asked)
    }
  }
}

/** The request names the run, so that one that comes too late stops no later turn. */
function ask(
  ctx: Context,
  agentId: string,
  verb: RequestVerb,
  asked: string | undefined,
): string | undefined {
  const run = openForRead(ctx.store, agentId)?.state.run
  if (run?.status !== 'open' || run.run_id === asked) return asked
  ctx.reporter.note('a turn is running: asking it to stop')
  ctx.store.putRequest(agentId, run.run_id, verb)
  return run.run_id
}
