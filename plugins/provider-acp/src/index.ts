/** `acp`: any agent that speaks the Agent Client Protocol over its stdin and stdout. */
import type { AgentProvider } from 'substrat/provider'
import { sessionsOf } from '../../shared/src/program/kept-session.js'
import type { JsonProgram } from '../../shared/src/program/program.js'
import { OPTIONS, readSettings } from './settings.js'
import { atRest, decode, encode } from './state.js'
import { playTurn } from './turn.js'
import { usedIn } from './usage.js'

const stop = (program: JsonProgram): Promise<void> => program.finish(0)

const provider: AgentProvider = {
  kind: 'agent',
  description: 'any agent that speaks ACP: opencode, gemini, goose, adapters for claude and codex',
  options: OPTIONS,
  // If its agent does. Otherwise what a turn holds counts.
  reports: { usd: true },
  check: (settings) => void readSettings(settings),
  program: (settings) => ({ shell: readSettings(settings).command }),
  // Each turn has its own process, so nothing outlives it.
  ...sessionsOf({ decode, encode, playTurn, stop, letGo: stop, atRest }),
  // Opening the session is the only way to look at it, and that starts the agent. The costs are in the state.
  inspect: async (state) => {
    const { costs } = state === null ? {} : decode(state)
    const { usage, model } = (costs && usedIn(costs)) ?? {}
    if (usage === undefined) return { outcome: 'unknown' }
    return { outcome: 'unknown', usage, ...(model !== undefined && { models: [{ model, ...usage }] }) }
  },
}

export default provider
