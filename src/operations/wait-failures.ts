/** The failures of `wait`, for an agent that did not reach its condition. */
import type { Context } from '../dispatch/context.js'
import { wordOf } from '../dispatch/outcome.js'
import { lastKnownPath } from '../dispatch/read-state.js'
import { SubstratError } from '../errors.js'
import type { ResultEnd, WaitedAgent } from '../schema/output.js'
import type { ListedAgent } from '../schema/output-overview.js'
import { stoppedHolder } from '../session/busy.js'
import type { State } from '../session/state.js'
import { howEnded } from '../session/status.js'
import type { Store } from '../storage/store.js'

export function whyGivenUp({ store, shutdown: { requested } }: Context, state: State): SubstratError {
  const facts = { agent_id: state.id }
  const keep = `keep waiting: substrat wait ${wordOf(state)}`
  if (requested !== undefined)
    return new SubstratError(
      `STOPPED_${requested}`,
      `stopped by ${requested} while waiting for ${state.path}`,
      {
        hint: keep,
        facts,
      },
    )
  const stopped = stoppedHolder(store, state.id)
  const why = stopped === undefined ? '' : `: its process, pid ${stopped.holder.pid}, ${stopped.what}`
  const hint = stopped?.advice ?? keep
  return new SubstratError('TIMED_OUT', `timed out waiting for ${state.path}${why}`, { hint, facts })
}

export function unreadableAgent(
  store: Store,
  agentId: string,
  { code, message }: SubstratError,
): Omit<WaitedAgent, keyof ResultEnd> {
  const agent: ListedAgent = {
    id: agentId,
    status: 'corrupt',
    shown_status: 'corrupt',
    path: lastKnownPath(store, agentId),
    error: { code, message },
  }
  return { agent, run: null, reply: null, wait: null }
}

export function neverWaits(state: State): SubstratError {
  return new SubstratError(
    'SESSION_STATE',
    `${state.path} ${howEnded(state)} and will not ask for a decision`,
    {
      hint: `read its log: substrat log ${wordOf(state)}`,
      facts: { agent_id: state.id },
    },
  )
}
