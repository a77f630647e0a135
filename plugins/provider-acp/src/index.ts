/** `acp`: any agent that speaks the Agent Client Protocol over its stdin and stdout. */
import type { AgentProvider } from 'substrat/provider'
import { sessionsOf } from '../../shared/src/program/kept-session.js'
import type { JsonProgram } from '../../shared/src/program/program.js'
import { OPTIONS, readSettings } from './settings.js'
import { decode, encode } from './state.js'
import { playTurn } from './turn.js'

const stop = (program: JsonProgram): Promise<void> => program.finish(0)

const provider: AgentProvider = {
  kind: 'agent',
  description: 'any agent that speaks ACP: opencode, gemini, goose, adapters for claude and codex',
  options: OPTIONS,
  check: (settings) => void readSettings(settings),
  // Each turn has its own process, so nothing outlives it.
  ...sessionsOf({ decode, encode, playTurn, stop, letGo: stop, atRest: (state) => state }),
  // Opening the session is the only way to look at it, and that starts the agent.
  inspect: async () => ({ outcome: 'unknown' }),
}

export default provider
