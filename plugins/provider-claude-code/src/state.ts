/** What substrat keeps for the next turn, in its log. */

import { failure } from '../../shared/src/failure.js'
import { textOf } from '../../shared/src/program/json.js'
import { decodeState, encodeState } from '../../shared/src/program/state.js'

export interface ClaudeState {
  /** Claude's own session, and the name of its transcript. */
  sessionId: string
  /** The model has answered in it: a transcript that is not there now has vanished, and was not just never written. */
  isBegun: boolean
  /** The message of the latest turn, as it is named in the transcript; null before the first. */
  promptId: string | null
}

export function encodeClaudeState({ sessionId, isBegun, promptId }: ClaudeState): Uint8Array {
  return encodeState({ session_id: sessionId, is_begun: isBegun, prompt_id: promptId })
}

/** A word of a command line, and the name of a transcript: what steers neither. */
export function isSessionId(id: string | undefined): id is string {
  return id !== undefined && /^\w[\w-]{0,127}$/.test(id)
}

/** Undefined where it is none of ours. */
export function decodeClaudeState(state: Uint8Array | null): ClaudeState | undefined {
  const decoded = decodeState(state)
  const sessionId = textOf(decoded?.session_id)
  if (decoded === undefined || !isSessionId(sessionId)) return undefined
  return { sessionId, isBegun: decoded.is_begun === true, promptId: textOf(decoded.prompt_id) ?? null }
}

export function restoredState(state: Uint8Array): ClaudeState {
  const decoded = decodeClaudeState(state)
  if (decoded === undefined) throw failure('session_lost', 'what is kept of the session of claude names none')
  return decoded
}
