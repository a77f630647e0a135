/** What is kept of a conversation between turns. */
import { createHash } from 'node:crypto'
import { failure } from '../../shared/src/failure.js'
import { textOf } from '../../shared/src/program/json.js'
import { decodeState, encodeState } from '../../shared/src/program/state.js'

export interface NativeState {
  session_id: string
  /** Of the instructions that the agent has been given, as it was told them in a prompt; null before that. */
  instructions_sha256: string | null
}

export function encode(state: NativeState): Uint8Array {
  return encodeState(state)
}

export function decode(state: Uint8Array): NativeState {
  const { session_id, instructions_sha256 } = decodeState(state) ?? {}
  if (typeof session_id === 'string' && session_id !== '') {
    return { session_id, instructions_sha256: textOf(instructions_sha256) ?? null }
  }
  throw failure('session_lost', 'what is recorded of the session is none of the acp provider')
}

/** Null where there are none. */
export function instructionsHash(instructions: string | null): string | null {
  if (instructions === null || instructions.trim() === '') return null
  return createHash('sha256').update(instructions).digest('hex')
}
