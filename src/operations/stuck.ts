/** Why what waits for an agent gets no turn, though nobody works there. */

import type { Context } from '../dispatch/context.js'
import { failureOf, nameOf } from '../dispatch/outcome.js'
import { turnObstacle } from '../dispatch/turn-obstacle.js'
import { SubstratError } from '../errors.js'
import { hasDueMail } from '../mail/inbox.js'
import type { Run, State } from '../session/state.js'

/** Undefined where a turn may begin, or nothing waits that is due. */
export function whyStuck(ctx: Context, state: State): SubstratError | undefined {
  if (state.state === 'terminated' || !hasDueMail(ctx.store, state)) return undefined
  const agent = nameOf(state)
  const obstacle = turnObstacle(state, 'mail')
  switch (obstacle?.kind) {
    case 'wait':
    case 'program':
      return failureOf(agent, state.run as Run, undefined)
    case 'hold':
    case 'gate':
      return new SubstratError(obstacle.code, `messages wait for ${agent}, which is ${obstacle.is}`, {
        hint: `let it take them: ${obstacle.next}`,
        facts: { agent_id: state.id },
      })
    default:
      return undefined
  }
}
