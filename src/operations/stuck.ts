/** Why pending mail of an agent is not delivered although no process holds the agent. */

import { failureOf } from '../dispatch/outcome.js'
import { elsewhereError, turnObstacle } from '../dispatch/turn-obstacle.js'
import { SubstratError } from '../errors.js'
import { hasDueMail } from '../mail/inbox.js'
import type { Run, State } from '../session/state.js'
import { type Host, hostOf } from '../session/workspace-host.js'
import type { Store } from '../storage/store.js'

/** Undefined if a turn may start, or no mail is due. */
export function whyStuck(store: Store, state: State): SubstratError | undefined {
  if (state.state === 'terminated' || !hasDueMail(store, state)) return undefined
  const agent = state.path
  const obstacle = turnObstacle(store, state, 'mail')
  switch (obstacle?.kind) {
    case 'wait':
    case 'program':
    case 'unknown':
      return failureOf(state, state.run as Run, undefined)
    case 'hold':
    case 'gate':
      return new SubstratError(obstacle.code, `messages are pending for ${agent}, which is ${obstacle.is}`, {
        hint: `deliver them: ${obstacle.next}`,
        facts: { agent_id: state.id },
      })
    case 'host':
      return elsewhereError(state, hostOf(state) as Host)
    default:
      return undefined
  }
}
