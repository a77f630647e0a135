/** A session of claude: which transcript it is, and the turns on it. */
import { randomUUID } from 'node:crypto'
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

export function openSession(kept: ClaudeState, settings: ProviderSettings, host: AgentHost): AgentSession {
  // A turn whose program is still behind its gate is stopped by the signal, one that runs with its program.
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
      throw failure('session_lost', `claude has no conversation ${state.sessionId} any more in ${directory}`)
    }
    const promptId = randomUUID()
    const permissions = new Permissions(options.allow ?? [], decided)
    state = { ...state, promptId, isBegun: resumes }
    // Before the program is there: a crash from here on finds the transcript by it.
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
      async replyInStore() {
        const inspection = await inspectTranscript(state, process.env)
        return inspection.outcome === 'finished' ? inspection.reply : undefined
      },
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
