/** The state that a provider of a program hands to substrat: a small JSON object, by default its session id. */
import type { JsonObject } from 'substrat/provider'
import { objectOf } from './json.js'

export function encodeState(state: object): Uint8Array {
  return Buffer.from(JSON.stringify(state))
}

/** Undefined where it is not what `encodeState` made. */
export function decodeState(state: Uint8Array | null): JsonObject | undefined {
  if (state === null) return undefined
  try {
    return objectOf(JSON.parse(Buffer.from(state).toString('utf8')))
  } catch {
    return undefined
  }
}
