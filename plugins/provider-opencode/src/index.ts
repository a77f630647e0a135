/**
 * `opencode`: OpenCode over its own server, which reports more than its ACP: retries, tool names, tokens and stored
 * sessions.
 */
import type { AgentProvider } from 'substrat/provider'
import { sessionsOf } from '../../shared/src/program/kept-session.js'
import { inspectTurn } from './inspect.js'
import { listModels } from './models.js'
import { OPTIONS, readSettings } from './settings.js'
import { decode, encode } from './state.js'
import { playTurn } from './turn.js'

const provider: AgentProvider = {
  kind: 'agent',
  description: 'OpenCode, with its own models, logins and sessions',
  options: OPTIONS,
  reports: { tokens: true, usd: true },
  models: listModels,
  check: (settings) => void readSettings(settings),
  program: (settings) => ({ shell: readSettings(settings).command }),
  ...sessionsOf({
    decode,
    encode,
    playTurn,
    stop: (server) => server.stop(0),
    letGo: (server) => server.letGo(),
    // Between turns no prompt is unanswered.
    atRest: (state) => ({ ...state, message_id: null }),
  }),
  inspect: inspectTurn,
}

export default provider
