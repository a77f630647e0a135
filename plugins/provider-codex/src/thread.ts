/** What substrat keeps of a thread of codex. */
import { countOf, textOf } from '../../shared/src/program/json.js'
import { decodeState, encodeState } from '../../shared/src/program/state.js'

export interface Thread {
  id: string
  /** The size of its rollout before the turn that runs: what follows is that turn. Null where that is not known. */
  rolloutBytes: number | null
  /** Of all its turns so far: codex says no other. */
  inputTokens: number
  outputTokens: number
}

export function encodeThread({ id, rolloutBytes, inputTokens, outputTokens }: Thread): Uint8Array {
  return encodeState({
    thread_id: id,
    rollout_bytes: rolloutBytes,
    input_tokens: inputTokens,
    output_tokens: outputTokens,
  })
}

/** A word of a command line, and the end of a file's name: what steers neither. */
export function isThreadId(id: string | undefined): id is string {
  return id !== undefined && /^\w[\w-]{0,127}$/.test(id)
}

/** Undefined where it names no thread. */
export function threadOf(state: Uint8Array | null): Thread | undefined {
  const { thread_id, rollout_bytes, input_tokens, output_tokens } = decodeState(state) ?? {}
  const id = textOf(thread_id)
  if (!isThreadId(id)) return undefined
  return {
    id,
    rolloutBytes: typeof rollout_bytes === 'number' ? countOf(rollout_bytes) : null,
    inputTokens: countOf(input_tokens),
    outputTokens: countOf(output_tokens),
  }
}
