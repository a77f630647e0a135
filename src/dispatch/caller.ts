/** The rights of a command that runs in a tool of an agent: the same rules of the tree as for the agent's own tools. */
import { SubstratError } from '../errors.js'
import type { Store } from '../storage/store.js'
import { isBelow } from '../tree/forest.js'
import { readState } from './read-state.js'

/** Refuses an operator's decision to a tool. `what` ends the sentence `may not …`. Throws TREE_RULES. */
export function refuseInTool(caller: string | null, what: string): void {
  if (caller === null) return
  throw new SubstratError('TREE_RULES', `a tool of agent ${caller} may not ${what}: only a person may`, {
    hint: 'ask your parent; a root asks a person with ask_operator',
    facts: { agent_id: caller },
  })
}

/** An agent may act only on agents below it. Throws TREE_RULES. */
export function checkReach(store: Store, caller: string | null, agentId: string, verb: string): void {
  if (caller === null) return
  const [from, to] = [readState(store, caller), readState(store, agentId)]
  if (isBelow(store, to, caller)) return
  throw new SubstratError(
    'TREE_RULES',
    `${from.path} may not ${verb} ${to.path}, which is not below it in the tree`,
    {
      hint: 'list the agents below it: substrat tree "$SUBSTRAT_AGENT"',
      facts: { agent_id: from.id, to: to.id },
    },
  )
}
