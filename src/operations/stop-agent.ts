/**
 * `suspend`: pauses an agent. If another process runs a turn, a stop request asks it to end that turn cleanly, and the
 * command waits. `terminate` uses the same functions.
 */
import { clock, sleep } from '../clock.js'
import { checkReach } from '../dispatch/caller.js'
import type { Context } from '../dispatch/context.js'
import { wordOf } from '../dispatch/outcome.js'
import { requestEnded, requestStands } from '../dispatch/standing-requests.js'
import { viewAgent } from '../dispatch/view.js'
import { visit } from '../dispatch/visit.js'
import { SessionStateError, SubstratError } from '../errors.js'
import { bootId } from '../host/identity.js'
import { stopKeptServer } from '../provider/kept-server.js'
import type { AgentView } from '../schema/output.js'
import { currentActor } from '../session/actor.js'
import { stoppedText } from '../session/busy.js'
import { openForRead } from '../session/load.js'
import type { NewRecord } from '../session/records.js'
import type { Session } from '../session/session.js'
import { howEnded } from '../session/status.js'
import type { RequestVerb } from '../storage/store.js'

export interface Suspended {
  agent: AgentView
  /** Whether a turn is interrupted until `resume`, because of this or an earlier `suspend`. */
  hasTurn: boolean
  isOnHold: boolean
}

/** With `hold`, the agent runs no turn until `resume`. Throws TREE_RULES. */
export async function suspend(ctx: Context, agentId: string, hold: boolean): Promise<Suspended> {
  checkReach(ctx.store, ctx.caller, agentId, 'suspend')
  let [hasTurn, isOnHold] = [false, false]
  const agent = await stopAndVisit(ctx, agentId, 'suspend', async (session) => {
    const { state } = session
    if (state.state === 'terminated') {
      throw new SessionStateError(`${state.path} ${howEnded(state)} and cannot be suspended`, {
        hint: `read its log: substrat log ${wordOf(state)}`,
        facts: { agent_id: state.id, state: state.state },
      })
    }
    await stopKeptServer(session, (text) => ctx.reporter.note(text))
    const records: NewRecord[] = []
    if (state.state === 'created') records.push({ kind: 'session.activated', boot_id: bootId() })
    if (state.state !== 'suspended') records.push({ kind: 'session.suspended', reason: 'requested' })
    if (hold && !state.hold) records.push({ kind: 'session.configured', hold: true })
    session.append(records)
    const { run } = session.state
    hasTurn = run?.status === 'interrupted' && run.reason === 'suspended'
    isOnHold = session.state.hold
  })
  return { agent, hasTurn, isOnHold }
}

/** Asks the holder to stop its turn, then waits for the lock and runs `work`. Throws LOCKED when the time is up. */
export async function stopAndVisit(
  ctx: Context,
  agentId: string,
  verb: RequestVerb,
  work: (session: Session) => Promise<void>,
): Promise<AgentView> {
  // `terminate` ends a run that a dead process left open with its own record, so settling must not interrupt that run.
  const continuesTurn = verb === 'terminate'
  const end = clock.monotonic() + ctx.bounds.waitMs
  for (let asked: string | undefined; ; await sleep(20)) {
    try {
      return await visit(
        ctx,
        agentId,
        { waitMs: 0, continuesTurn, endsRun: continuesTurn },
        async (session) => {
          requestEnded(ctx, agentId)
          await work(session)
          return viewAgent(ctx.store, session.state)
        },
      )
    } catch (error) {
      if (!(error instanceof SubstratError) || error.code !== 'LOCKED') throw error
      asked = requestStop(ctx, agentId, verb, asked)
      if (clock.monotonic() >= end) throw stillBusy(error, asked)
    }
  }
}

/** The stop request stays on disk, so the holder still stops after this command has given up. */
function stillBusy(error: SubstratError, asked: string | undefined): SubstratError {
  if (asked === undefined) return error
  const { code, message, hint, facts, cause } = error
  const said = `${message}; it was asked to stop and will stop as soon as it can`
  return new SubstratError(code, said, { ...(hint === undefined ? {} : { hint }), facts, cause })
}

/** The request names the run, so that a late request cannot stop a later turn. Returns the run that was asked last. */
export function requestStop(
  ctx: Context,
  agentId: string,
  verb: RequestVerb,
  asked?: string,
): string | undefined {
  const run = openForRead(ctx.store, agentId)?.state.run
  if (run?.status !== 'open' || run.run_id === asked) return asked
  ctx.reporter.note(stoppedText(ctx.store, agentId) ?? 'a turn is running: asking it to stop')
  ctx.store.requests.put(agentId, run.run_id, verb, currentActor())
  // The holder may have ended the run meanwhile. If this command dies too, `recover --all` follows the marker and removes the request.
  ctx.store.visits.mark(agentId)
  requestStands(ctx, agentId, verb)
  return run.run_id
}
