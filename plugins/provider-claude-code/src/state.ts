/** The state of a session that substrat logs for the next turn. */

import { failure } from '../../shared/src/failure.js'
import { textOf } from '../../shared/src/program/json.js'
import { decodeState, encodeState } from '../../shared/src/program/state.js'

export interface ClaudeState {
  /** Claude's session id, which is also the name of its transcript. */
  sessionId: string
  /**
   * The model has answered in this session. If its transcript does not exist, it was lost; otherwise it was never
   * written.
   */
  isBegun: boolean
  /** Id of the latest prompt in the transcript; null before the first. */
  promptId: string | null
}

export function encodeClaudeState({ sessionId, isBegun, promptId }: ClaudeState): Uint8Array {
  return encodeState({ session_id: sessionId, is_begun: isBegun, prompt_id: promptId })
}

/** The id becomes an argument and a file name, so only these characters are safe. */
export function isSessionId(id: string | undefined): id is string {
  return id !== undefined && /^\w[\w-]{0,127}$/.test(id)
}

/** Undefined for a state that this provider did not write. */
export function decodeClaudeState(state: Uint8Array | null): ClaudeState | undefined {
  const decoded = decodeState(state)
  const sessionId = textOf(decoded?.session_id)
  if (decoded === undefined || !isSessionId(sessionId)) return undefined
  return { sessionId, isBegun: decoded.is_begun === true, promptId: textOf(decoded.prompt_id) ?? null }
}

export function restoredState(state: Uint8Array): ClaudeState {
  const decoded = decodeClaudeState(state)
  if (decoded === undefined)
    throw failure('session_lost', 'the recorded state is not a session of the claude-code provider')
  return decoded
}
