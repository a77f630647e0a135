/** `opencode`: OpenCode over its own server, which says more than its ACP does: retries, tools, tokens, and its store. */
import type { AgentProvider } from 'substrat/provider'
import { sessionsOf } from '../../shared/src/program/kept-session.js'
import { inspectTurn } from './inspect.js'
import { OPTIONS, readSettings } from './settings.js'
import { decode, encode } from './state.js'
import { playTurn } from './turn.js'

const provider: AgentProvider = {
  kind: 'agent',
  description: 'OpenCode, with its own models, logins and sessions',
  options: OPTIONS,
  check: (settings) => void readSettings(settings),
  ...sessionsOf({
    decode,
    encode,
    playTurn,
    stop: (server) => server.stop(0),
    letGo: (server) => server.letGo(),
    // There is no prompt whose answer is to be looked for.
    atRest: (state) => ({ ...state, message_id: null }),
  }),
  inspect: inspectTurn,
}

export default provider
