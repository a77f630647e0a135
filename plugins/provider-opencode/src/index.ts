/** `opencode`: OpenCode over its own server, which says more than its ACP does: retries, tools, tokens, and its store. */
import type {
  AgentHost,
  AgentProvider,
  AgentSession,
  ProviderSettings,
  TurnCallOptions,
  WaitAnswer,
} from 'substrat/provider'
import { decisionPrompt } from '../../program-lines/src/decisions.js'
import { inspectTurn } from './inspect.js'
import type { Server } from './server.js'
import { OPTIONS, readSettings } from './settings.js'
import { decode, encode, type NativeState } from './state.js'
import { playTurn } from './turn.js'

const provider: AgentProvider = {
  kind: 'agent',
  description: 'OpenCode, with its own models, logins and sessions',
  options: OPTIONS,
  check: (settings) => void readSettings(settings),
  create: async (settings, host) => session(null, settings, host),
  restore: async (state, settings, host) => session(decode(state), settings, host),
  inspect: inspectTurn,
}

export default provider

function session(first: NativeState | null, settings: ProviderSettings, host: AgentHost): AgentSession {
  let state = first
  let server: Server | undefined
  const turn = async function* (prompt: string, options: TurnCallOptions, decided?: WaitAnswer) {
    const work = {
      settings,
      host,
      state,
      prompt,
      options,
      ...(decided !== undefined && { decided }),
      onServer: (started: Server) => {
        server = started
      },
    }
    for await (const event of playTurn(work)) {
      if (event.type === 'state') state = decode(event.state)
      yield event
    }
  }
  const stop = async (): Promise<void> => {
    await server?.stop(0)
    server = undefined
  }
  return {
    send: (prompt, options) => turn(prompt, options),
    answer: (answer, options) => turn(decisionPrompt(answer), options, answer),
    async suspend() {
      await server?.letGo()
      server = undefined
      // Its turn is over: there is no prompt whose answer is to be looked for.
      return state === null ? null : encode({ ...state, message_id: null })
    },
    stop,
  }
}
