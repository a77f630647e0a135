/**
 * `codex`: OpenAI Codex, a process `codex exec` for each turn.
 *
 * It keeps the conversation (a thread) in a store of its own. `codex exec` cannot ask for permission: what its sandbox
 * does not let through fails, and it goes on without.
 */
import type { AgentHost, AgentProvider, AgentSession, ProviderSettings } from 'substrat/provider'
import { failure } from '../../shared/src/failure.js'
import { turnOutcome } from './rollout.js'
import { OPTIONS, readSettings } from './settings.js'
import { encodeThread, type Thread, threadOf } from './thread.js'
import { runTurn } from './turn.js'

const provider: AgentProvider = {
  kind: 'agent',
  description: 'OpenAI Codex (codex exec); it cannot ask for permission, so its sandbox decides',
  options: OPTIONS,
  secrets: () => ['OPENAI_API_KEY', 'CODEX_API_KEY', 'CODEX_ACCESS_TOKEN'],
  check: (settings) => void readSettings(settings),
  create: async (settings, host) => open(undefined, settings, host),
  async restore(state, settings, host) {
    const thread = threadOf(state)
    if (thread === undefined)
      throw failure('session_lost', 'the state of this agent names no thread of codex')
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
    // No turn of it runs: where the next one begins is measured when it does.
    suspend: async () => (thread === undefined ? null : encodeThread({ ...thread, rolloutBytes: null })),
    // A turn ends its program itself, on every end that it can have.
    stop: async () => undefined,
  }
}

export default provider
