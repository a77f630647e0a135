/** Encodes the state that an agent provider gives to substrat: a small JSON object, usually with a session id. */
import type { JsonObject } from 'substrat/provider'
import { objectOf } from './json.js'

export function encodeState(state: object): Uint8Array {
  return Buffer.from(JSON.stringify(state))
}

/** Undefined for anything that `encodeState` did not write. */
export function decodeState(state: Uint8Array | null): JsonObject | undefined {
  if (state === null) return undefined
  try {
    return objectOf(JSON.parse(Buffer.from(state).toString('utf8')))
  } catch {
    return undefined
  }
}
