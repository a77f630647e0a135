/** Why what waits for an agent gets no turn, though nobody works there. */

import type { Context } from '../dispatch/context.js'
import { failureOf, nameOf, wordOf } from '../dispatch/outcome.js'
import { SubstratError } from '../errors.js'
import { hasDueMail } from '../mail/inbox.js'
import type { State } from '../session/state.js'
import { isBesideProgram } from '../session/status.js'

/** Undefined where a turn may begin, or nothing waits that is due. */
export function whyStuck(ctx: Context, state: State): SubstratError | undefined {
  const { run, hold, gate } = state
  if (state.state === 'terminated' || !hasDueMail(ctx.store, state)) return undefined
  const facts = { agent_id: state.id }
  const [agent, word] = [nameOf(state), wordOf(state)]
  if (run?.status === 'open' && run.wait !== null) return failureOf(agent, run, undefined)
  if (hold)
    return new SubstratError('ON_HOLD', `messages wait for ${agent}, which is on hold`, {
      hint: `let it take them: substrat resume ${word}`,
      facts,
    })
  if (gate.isGated && gate.permits === 0)
    return new SubstratError('GATED', `messages wait for ${agent}, which is gated`, {
      hint: `let it take them: substrat ungate ${word}`,
      facts,
    })
  return run !== null && isBesideProgram(state) ? failureOf(agent, run, undefined) : undefined
}
