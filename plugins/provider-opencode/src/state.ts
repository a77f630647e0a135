/** What is kept of a conversation between turns. */
import { failure } from '../../shared/src/failure.js'
import { textOf } from '../../shared/src/program/json.js'
import { decodeState, encodeState } from '../../shared/src/program/state.js'

export interface NativeState {
  session_id: string
  /** Of the prompt of the turn, by which its answer is known; null between turns. */
  message_id: string | null
}

/** A part of a path of its API: what leads nowhere else. */
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
  throw failure('session_lost', 'what is recorded of the session is none of the opencode provider')
}
