import { SubstratError } from '../errors.js'
import { isUuid } from '../format.js'
import type { Store } from '../storage/store.js'

/** The id of the agent whose tool runs this command, if the agent belongs to this home; null for a person. */
export function callingAgent(root: string, open: () => Store | undefined): string | null {
  const { SUBSTRAT_AGENT: agentId = '', SUBSTRAT_LOG: log = '' } = process.env
  if (!isUuid(agentId)) return null
  if (open()?.hasAgent(agentId) === true) return agentId
  // A process that a removed agent left running does not get the rights of a person. An agent of another home counts as a person.
  if (!log.startsWith(`${root}/`)) return null
  throw new SubstratError(
    'AGENT_NOT_FOUND',
    `agent ${agentId} was removed; its tools can no longer use substrat`,
    {
      hint: 'stop the processes that it left running',
      facts: { agent: agentId },
    },
  )
}
