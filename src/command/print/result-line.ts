/** The line, or the reply, that `deliver`, `recover` and `wait` print of each agent. */
import type { DeliveredAgent } from '../../operations/deliver.js'
import type { RecoveredAgent } from '../../operations/recover.js'
import type { WaitedAgent } from '../../operations/wait.js'

/** One line about an agent that was given its turns. */
export function deliveredLine({ agent, path, turns, status, run, inbox }: DeliveredAgent): string {
  const given = turns === 1 ? '1 turn' : `${turns} turns`
  const how = turns === 0 || run === null || run.status === 'open' ? status : run.status
  return `${path ?? agent}: ${given}, ${how}${inbox === 0 ? '' : `, ${inbox} waiting`}`
}

export function recoveredLine({ agent, name, row, found }: RecoveredAgent, words: string): string {
  const who = name === null ? agent : `${name} (${agent.slice(0, 8)})`
  return row === null || row === 'A' ? `${who}: ${words}` : `${who}: ${words} [${row}: ${found}]`
}

/** The reply alone; where there are several, under the name of its agent and a line apart. */
export function waitedText({ agent, reply }: WaitedAgent, agentIds: string[]): string {
  if (agentIds.length === 1) return reply ?? ''
  const end = agent.id === agentIds.at(-1) ? '' : '\n'
  return `==> ${'path' in agent ? agent.path : agent.id} <==\n${reply}${end}`
}
