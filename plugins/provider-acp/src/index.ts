/** `acp`: every agent that speaks the Agent Client Protocol over its stdin and stdout. */
import type {
  AgentHost,
  AgentProvider,
  AgentSession,
  ProviderSettings,
  TurnCallOptions,
  WaitAnswer,
} from 'substrat/provider'
import { decisionPrompt } from '../../program-lines/src/decisions.js'
import type { JsonProgram } from '../../program-lines/src/program.js'
import { OPTIONS, readSettings } from './settings.js'
import { decode, encode, type NativeState } from './state.js'
import { playTurn } from './turn.js'

const provider: AgentProvider = {
  kind: 'agent',
  description: 'any agent that speaks ACP: opencode, gemini, goose, adapters for claude and codex',
  options: OPTIONS,
  check: (settings) => void readSettings(settings),
  create: async (settings, host) => session(null, settings, host),
  restore: async (state, settings, host) => session(decode(state), settings, host),
  // The protocol has no way to look at a session without opening it, and opening it starts the agent.
  inspect: async () => ({ outcome: 'unknown' }),
}

export default provider

function session(first: NativeState | null, settings: ProviderSettings, host: AgentHost): AgentSession {
  let state = first
  let program: JsonProgram | undefined
  const turn = async function* (prompt: string, options: TurnCallOptions, decided?: WaitAnswer) {
    const work = {
      settings,
      host,
      state,
      prompt,
      options,
      ...(decided !== undefined && { decided }),
      onProgram: (started: JsonProgram) => {
        program = started
      },
    }
    for await (const event of playTurn(work)) {
      if (event.type === 'state') state = decode(event.state)
      yield event
    }
  }
  const stop = async (): Promise<void> => {
    await program?.finish(0)
    program = undefined
  }
  return {
    send: (prompt, options) => turn(prompt, options),
    answer: (answer, options) => turn(decisionPrompt(answer), options, answer),
    async suspend() {
      await stop()
      return state === null ? null : encode(state)
    },
    stop,
  }
}
