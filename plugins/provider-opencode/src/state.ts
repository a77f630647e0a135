/** The state of a session that substrat logs. */
import { failure } from '../../shared/src/failure.js'
import { textOf } from '../../shared/src/program/json.js'
import { decodeState, encodeState } from '../../shared/src/program/state.js'

export interface NativeState {
  session_id: string
  /** Id of the turn's prompt, by which its answer is found; null between turns. */
  message_id: string | null
}

/** The id becomes part of a URL path, so only these characters are safe. */
export function isSessionId(id: string): boolean {
  return /^ses_\w{1,128}$/.test(id)
}

export function encode(state: NativeState): Uint8Array {
  return encodeState(state)
}

export function decode(state: Uint8Array): NativeState {
  const { session_id, message_id } = decodeState(state) ?? {}
  if (typeof session_id === 'string' && isSessionId(session_id)) {
    return { session_id, message_id: textOf(message_id) ?? null }
  }
  throw failure('session_lost', 'the recorded state is not a session of the opencode provider')
}
