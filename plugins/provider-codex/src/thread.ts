/** The state of a thread that substrat logs. */
import { countOf, textOf } from '../../shared/src/program/json.js'
import { decodeState, encodeState } from '../../shared/src/program/state.js'

export interface Thread {
  id: string
  /** Size of the rollout before the current turn, which is everything after it. Null if unknown. */
  rolloutBytes: number | null
}

export function encodeThread({ id, rolloutBytes }: Thread): Uint8Array {
  return encodeState({ thread_id: id, rollout_bytes: rolloutBytes })
}

/** The id becomes an argument and part of a file name, so only these characters are safe. */
export function isThreadId(id: string | undefined): id is string {
  return id !== undefined && /^\w[\w-]{0,127}$/.test(id)
}

/** Undefined if the state names no thread. */
export function threadOf(state: Uint8Array | null): Thread | undefined {
  const { thread_id, rollout_bytes } = decodeState(state) ?? {}
  const id = textOf(thread_id)
  if (!isThreadId(id)) return undefined
  return { id, rolloutBytes: typeof rollout_bytes === 'number' ? countOf(rollout_bytes) : null }
}
