/**
 * `codex`: OpenAI Codex, one `codex exec` process per turn.
 *
 * Codex stores the conversation (a thread) itself. `codex exec` cannot ask for permission: an action that its sandbox
 * does not permit fails, and codex continues without it.
 */
import type { AgentHost, AgentProvider, AgentSession, ProviderSettings } from 'substrat/provider'
import { failure } from '../../shared/src/failure.js'
import { checkLogin } from './login.js'
import { listModels } from './models.js'
import { turnOutcome } from './rollout.js'
import { OPTIONS, readSettings } from './settings.js'
import { encodeThread, type Thread, threadOf } from './thread.js'
import { runTurn } from './turn.js'

const provider: AgentProvider = {
  kind: 'agent',
  description: 'OpenAI Codex (codex exec); it cannot ask for permission, so its sandbox decides',
  options: OPTIONS,
  reports: { tokens: true },
  models: listModels,
  secrets: () => ['OPENAI_API_KEY', 'CODEX_API_KEY', 'CODEX_ACCESS_TOKEN'],
  check: (settings) => void readSettings(settings),
  program: (settings) => ({ name: readSettings(settings).command[0] }),
  ready: checkLogin,
  create: async (settings, host) => open(undefined, settings, host),
  async restore(state, settings, host) {
    const thread = threadOf(state)
    if (thread === undefined)
      throw failure('session_lost', 'the recorded state is not a session of the codex provider')
    return open(thread, settings, host)
  },
  async inspect(state, _settings, options) {
    const thread = threadOf(state)
    return thread === undefined ? { outcome: 'unknown' } : turnOutcome(thread, process.env, options?.heard)
  },
}

function open(known: Thread | undefined, settings: ProviderSettings, host: AgentHost): AgentSession {
  let thread = known
  return {
    async *send(prompt, options) {
      const keep = (latest: Thread): void => {
        thread = latest
      }
      yield* runTurn({ prompt, thread, settings, host, options, keep })
    },
    // `rolloutBytes` is measured again when the next turn begins.
    suspend: async () => (thread === undefined ? null : encodeThread({ ...thread, rolloutBytes: null })),
    // Every turn ends its program itself.
    stop: async () => undefined,
  }
}

export default provider
