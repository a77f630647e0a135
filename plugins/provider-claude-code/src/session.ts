/** One session of claude, and the turns in it. */
import type {
  AgentEvent,
  AgentHost,
  AgentSession,
  ProviderSettings,
  TurnCallOptions,
  WaitAnswer,
} from 'substrat/provider'
import { failure } from '../../shared/src/failure.js'
import type { JsonProgram } from '../../shared/src/program/program.js'
import { Permissions, promptOfAnswer } from './permission.js'
import { readSettings } from './settings.js'
import { type ClaudeState, encodeClaudeState } from './state.js'
import { claudeDirectory, findTranscript, inspectTranscript } from './transcript.js'
import { runTurn } from './turn.js'
import { newUuid } from './uuid.js'

export function openSession(kept: ClaudeState, settings: ProviderSettings, host: AgentHost): AgentSession {
  // Stopping aborts this signal, which ends a turn whose program still waits at the start barrier. A running program
  // is ended directly.
  const stopped = new AbortController()
  let program: JsonProgram | undefined
  let state = kept
  const stateEvent = (): AgentEvent => ({ type: 'state', state: encodeClaudeState(state) })

  async function* turn(
    prompt: string,
    options: TurnCallOptions,
    decided?: WaitAnswer,
  ): AsyncIterable<AgentEvent> {
    const resumes = findTranscript(state.sessionId, process.env) !== undefined
    if (!resumes && state.isBegun) {
      const directory = claudeDirectory(process.env)
      throw failure('session_lost', `claude no longer has session ${state.sessionId} in ${directory}`)
    }
    const promptId = newUuid()
    const permissions = new Permissions(options.allow ?? [], decided)
    state = { ...state, promptId, isBegun: resumes }
    // Yielded before the program starts, so that after a crash the transcript can be found.
    yield stateEvent()
    const { sessionId } = state
    yield* runTurn({
      settings: readSettings(settings),
      host,
      signal: AbortSignal.any([options.signal, stopped.signal]),
      sessionId,
      resumes,
      promptId,
      prompt,
      permissions,
      onProgram(running) {
        program = running
      },
      onSession(other) {
        state = { ...state, sessionId: other }
        return [stateEvent()]
      },
      onAnswer() {
        if (state.isBegun) return []
        state = { ...state, isBegun: true }
        return [stateEvent()]
      },
      stored: () => inspectTranscript(state, process.env),
    })
  }

  return {
    send: (prompt, options) => turn(prompt, options),
    answer: (answer, options) => turn(promptOfAnswer(answer), options, answer),
    async suspend() {
      await program?.finish(0)
      return state.promptId === null ? null : encodeClaudeState(state)
    },
    async stop() {
      stopped.abort(new Error('the session was stopped'))
      await program?.finish(0)
    },
  }
}
