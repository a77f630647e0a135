/** `claude-code`: the Claude Code of this machine, with its own login, settings and sessions. */
import type { AgentProvider } from 'substrat/provider'
import { checkLogin } from './login.js'
import { listModels } from './models.js'
import { openSession } from './session.js'
import { OPTIONS, readSettings } from './settings.js'
import { decodeClaudeState, restoredState } from './state.js'
import { inspectTranscript } from './transcript.js'
import { newUuid } from './uuid.js'

const provider: AgentProvider = {
  kind: 'agent',
  description: 'Claude Code (claude), with its own login, settings and sessions',
  options: OPTIONS,
  reports: { tokens: true, usd: true },
  models: listModels,
  check(settings) {
    readSettings(settings)
  },
  program: (settings) => ({ name: readSettings(settings).command }),
  ready: checkLogin,
  create: async (settings, host) =>
    openSession({ sessionId: newUuid(), isBegun: false, promptId: null }, settings, host),
  restore: async (state, settings, host) => openSession(restoredState(state), settings, host),
  async inspect(state, _settings, options) {
    const known = decodeClaudeState(state)
    if (known === undefined) return { outcome: 'unknown' }
    return inspectTranscript(known, process.env, options?.heard)
  },
}

export default provider
