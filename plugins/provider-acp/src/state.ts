/** The state of a session that substrat logs for the next turn. */
import { createHash } from 'node:crypto'
import type { JsonObject } from 'substrat/provider'
import { failure } from '../../shared/src/failure.js'
import { objectOf, textOf } from '../../shared/src/program/json.js'
import { decodeState, encodeState } from '../../shared/src/program/state.js'
import type { Costs } from './usage.js'

export interface NativeState {
  session_id: string
  /** SHA-256 of the instructions that the agent last received in a prompt; null before that. */
  instructions_sha256: string | null
  /** Absent if the agent has not reported a cost. */
  costs?: Costs
}

export function encode(state: NativeState): Uint8Array {
  return encodeState(state)
}

export function decode(state: Uint8Array): NativeState {
  const { session_id, instructions_sha256, costs } = decodeState(state) ?? {}
  if (typeof session_id === 'string' && session_id !== '') {
    const known = costsOf(objectOf(costs))
    return {
      session_id,
      instructions_sha256: textOf(instructions_sha256) ?? null,
      ...(known !== undefined && { costs: known }),
    }
  }
  throw failure('session_lost', 'the recorded state is not a session of the acp provider')
}

/** The state between turns: it has the total of the session, and no turn. */
export function atRest({ costs, ...state }: NativeState): NativeState {
  return costs === undefined ? state : { ...state, costs: { total_usd: costs.total_usd, turn_usd: null } }
}

function costsOf(stored: JsonObject | undefined): Costs | undefined {
  if (stored === undefined) return undefined
  const [total_usd, turn_usd, model] = [stored.total_usd, stored.turn_usd, textOf(stored.model)]
  if (!isAmount(total_usd)) return undefined
  return { total_usd, turn_usd: isAmount(turn_usd) ? turn_usd : null, ...(model !== undefined && { model }) }
}

function isAmount(value: unknown): value is number {
  return typeof value === 'number' && Number.isFinite(value) && value >= 0
}

/** Null without instructions. */
export function instructionsHash(instructions: string | null): string | null {
  if (instructions === null || instructions.trim() === '') return null
  return createHash('sha256').update(instructions).digest('hex')
}
