/** One line about a recovered agent, for a person. */
import type { RecoveredAgent } from '../dispatch/recover.js'

const WORDS: Record<RecoveredAgent['outcome'], string> = {
  clean: 'nothing to do',
  marked: 'repaired and marked',
  continued: 'went on',
  held: 'held by a living process',
  failed: 'cannot be recovered',
}

export function agentLine({ agent, name, outcome, row, found, run }: RecoveredAgent): string {
  const who = name === null ? agent : `${name} (${agent.slice(0, 8)})`
  const what = outcome === 'continued' && run !== null ? `${WORDS[outcome]}, ${run.status}` : WORDS[outcome]
  return row === null || row === 'A' ? `${who}: ${what}` : `${who}: ${what} [${row}: ${found}]`
}
