/** The session of an agent whose state goes on from turn to turn, and whose program can be let go from beside its turn. */
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
  /** Of the turns before; null in a session that is still to be opened. */
  state: State | null
  prompt: string
  /** What a person decided about the turn that this one goes on with. */
  decided?: WaitAnswer
  options: TurnCallOptions
  /** Told of the program, so that it can be let go from elsewhere. */
  onProgram(program: Program): void
}

export interface SessionKind<State, Program> {
  decode(state: Uint8Array): State
  encode(state: State): Uint8Array
  playTurn(work: TurnWork<State, Program>): AsyncGenerator<AgentEvent>
  stop(program: Program): Promise<void>
  letGo(program: Program): Promise<void>
  /** What is kept of it where no turn runs. */
  atRest(state: State): State
}

/** How a provider begins such a session, and goes on with one. */
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
