/** The text that `deliver`, `recover` and `wait` print for each agent. */
import type { DeliveredAgent, RecoveredAgent, WaitedAgent } from '../../schema/output.js'
import { wordOfStatus } from '../../schema/words.js'

export function deliveredLine({ agent, path, turns, shown_status, run, inbox }: DeliveredAgent): string {
  const given = turns === 1 ? '1 turn' : `${turns} turns`
  const isOfRun = turns > 0 && run !== null && run.status !== 'open' && shown_status !== 'timed_out'
  const how = isOfRun ? run.status : wordOfStatus(shown_status)
  return `${path ?? agent}: ${given}, ${how}${inbox === 0 ? '' : `, ${inbox} pending`}`
}

export function recoveredLine({ agent, name, row, found }: RecoveredAgent, words: string): string {
  const who = name === null ? agent : `${name} (${agent.slice(0, 8)})`
  return row === null || row === 'A' ? `${who}: ${words}` : `${who}: ${words} [${row}: ${found}]`
}

/** One of very many agents. */
export function waitedLine({ agent }: WaitedAgent): string {
  return `${agent.path ?? agent.id}: ${wordOfStatus(agent.shown_status)}`
}

/** With one agent: only its reply. With several: a heading with the agent's name above each reply, as `head` prints files. */
export function waitedText({ agent, reply }: WaitedAgent, agentIds: string[]): string {
  if (agentIds.length === 1) return reply ?? ''
  const end = agent.id === agentIds.at(-1) ? '' : '\n'
  return `==> ${agent.path ?? agent.id} <==\n${reply}${end}`
}
