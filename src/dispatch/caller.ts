/** What a command may do that runs in a tool of an agent: the rules of the tree hold for it as they do for the agent's tools. */
import { SubstratError } from '../errors.js'
import type { FileStore } from '../storage/store.js'
import { isBelow } from '../tree/forest.js'
import { readState } from './read-state.js'

/** For what only the person at the machine decides. `what` is the end of the sentence: `may not …`. Throws TREE_RULES. */
export function refuseInTool(caller: string | null, what: string): void {
  if (caller === null) return
  throw new SubstratError('TREE_RULES', `a tool of agent ${caller} may not ${what}: only a person may`, {
    hint: 'ask your parent; a root asks a person with ask_operator',
    facts: { agent_id: caller },
  })
}

/** An agent has power over what is below it, and over nothing else. Throws TREE_RULES. */
export function checkReach(store: FileStore, caller: string | null, agentId: string, verb: string): void {
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
