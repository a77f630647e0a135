/** The state of a thread that substrat logs. */
import { countOf, textOf } from '../../shared/src/program/json.js'
import { decodeState, encodeState } from '../../shared/src/program/state.js'

export interface Thread {
  id: string
  /** Size of the rollout before the current turn, which is everything after it. Null if unknown. */
  rolloutBytes: number | null
  /** Totals of the thread: codex reports no others. */
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

/** The id becomes an argument and part of a file name, so only these characters are safe. */
export function isThreadId(id: string | undefined): id is string {
  return id !== undefined && /^\w[\w-]{0,127}$/.test(id)
}

/** Undefined if the state names no thread. */
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
