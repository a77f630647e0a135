/** The state of a session that substrat logs for the next turn. */
import { createHash } from 'node:crypto'
import { failure } from '../../shared/src/failure.js'
import { textOf } from '../../shared/src/program/json.js'
import { decodeState, encodeState } from '../../shared/src/program/state.js'

export interface NativeState {
  session_id: string
  /** SHA-256 of the instructions that the agent last received in a prompt; null before that. */
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
  throw failure('session_lost', 'the recorded state is not a session of the acp provider')
}

/** Null without instructions. */
export function instructionsHash(instructions: string | null): string | null {
  if (instructions === null || instructions.trim() === '') return null
  return createHash('sha256').update(instructions).digest('hex')
}
