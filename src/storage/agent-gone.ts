import { RUN_AGAIN, SubstratError } from '../errors.js'

/** Another process removed the agent after the name was looked up. */
export function agentGone(agentId: string): SubstratError {
  return new SubstratError('AGENT_NOT_FOUND', `agent ${agentId} was removed while this command ran`, {
    hint: 'list the agents: substrat list --all',
    facts: { agent_id: agentId },
  })
}

export function createdElsewhere(agentId: string): SubstratError {
  return new SubstratError('LOCKED', `another process is creating agent ${agentId}, or has just created it`, {
    hint: RUN_AGAIN,
    facts: { agent_id: agentId },
  })
}
