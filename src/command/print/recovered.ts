/** One line about a recovered agent, for a person. */
import type { RecoveredAgent } from '../../operations/recover.js'

export function agentLine({ agent, name, row, found }: RecoveredAgent, words: string): string {
  const who = name === null ? agent : `${name} (${agent.slice(0, 8)})`
  return row === null || row === 'A' ? `${who}: ${words}` : `${who}: ${words} [${row}: ${found}]`
}
