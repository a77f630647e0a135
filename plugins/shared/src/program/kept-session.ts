/** A session whose state passes from turn to turn, and whose program can be released from outside its turn. */
import type {
  AgentEvent,
  AgentHost,
  AgentProvider,
  AgentSession,
  ProviderSettings,
  TurnCallOptions,
  WaitAnswer,
} from 'substrat/provider'
import { decisionPrompt } from './decisions.js'

export interface TurnWork<State, Program> {
  settings: ProviderSettings
  host: AgentHost
  /** The state after the previous turn; null for a session that is not open yet. */
  state: State | null
  prompt: string
  /** The user's decision about the turn that this one continues. */
  decided?: WaitAnswer
  options: TurnCallOptions
  /** Reports the program, so that it can be stopped from outside the turn. */
  onProgram(program: Program): void
}

export interface SessionKind<State, Program> {
  decode(state: Uint8Array): State
  encode(state: State): Uint8Array
  playTurn(work: TurnWork<State, Program>): AsyncGenerator<AgentEvent>
  stop(program: Program): Promise<void>
  letGo(program: Program): Promise<void>
  /** The state to keep between turns. */
  atRest(state: State): State
}

/** `create` and `restore` of a provider with such sessions. */
export function sessionsOf<State, Program>(
  kind: SessionKind<State, Program>,
): Pick<AgentProvider, 'create' | 'restore'> {
  return {
    create: async (settings, host) => openSession(kind, null, settings, host),
    restore: async (state, settings, host) => openSession(kind, kind.decode(state), settings, host),
  }
}

function openSession<State, Program>(
  kind: SessionKind<State, Program>,
  first: State | null,
  settings: ProviderSettings,
  host: AgentHost,
): AgentSession {
  let state = first
  let program: Program | undefined
  const turn = async function* (prompt: string, options: TurnCallOptions, decided?: WaitAnswer) {
    const onProgram = (started: Program): void => {
      program = started
    }
    const work = { settings, host, state, prompt, options, onProgram }
    for await (const event of kind.playTurn(decided === undefined ? work : { ...work, decided })) {
      if (event.type === 'state') state = kind.decode(event.state)
      yield event
    }
  }
  const end = async (by: (program: Program) => Promise<void>): Promise<void> => {
    if (program !== undefined) await by(program)
    program = undefined
  }
  return {
    send: (prompt, options) => turn(prompt, options),
    answer: (answer, options) => turn(decisionPrompt(answer), options, answer),
    async suspend() {
      await end(kind.letGo)
      return state === null ? null : kind.encode(kind.atRest(state))
    },
    stop: () => end(kind.stop),
  }
}
