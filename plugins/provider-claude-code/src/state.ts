/** What substrat keeps for the next turn, in its log. */

import { createHash } from 'node:crypto'
import type { WaitAsk } from 'substrat/provider'
import { failure } from '../../model-http/src/failure.js'
import { textOf } from '../../program-lines/src/json.js'
import { decodeState, encodeState } from '../../program-lines/src/state.js'

export interface ClaudeState {
  /** Claude's own session, and the name of its transcript. */
  sessionId: string
  /** A turn of it has ended: a transcript that is not there now has vanished, and was not just never written. */
  isBegun: boolean
  /** The message of the latest turn, as it is named in the transcript; null before the first. */
  promptId: string | null
  /** What a person was asked about: each may be done once when it is approved. Hashes, because inputs may be large. */
  asked: string[]
}

export function encodeClaudeState({ sessionId, isBegun, promptId, asked }: ClaudeState): Uint8Array {
  return encodeState({ session_id: sessionId, is_begun: isBegun, prompt_id: promptId, asked })
}

/** Undefined where it is none of ours. */
export function decodeClaudeState(state: Uint8Array | null): ClaudeState | undefined {
  const decoded = decodeState(state)
  const sessionId = textOf(decoded?.session_id)
  if (decoded === undefined || sessionId === undefined) return undefined
  const asked = Array.isArray(decoded.asked) ? decoded.asked.map(String) : []
  return { sessionId, isBegun: decoded.is_begun === true, promptId: textOf(decoded.prompt_id) ?? null, asked }
}

export function restoredState(state: Uint8Array): ClaudeState {
  const decoded = decodeClaudeState(state)
  if (decoded === undefined) throw failure('session_lost', 'what is kept of the session of claude names none')
  return decoded
}

/** The same for the same tool and input, whatever the order of its keys. */
export function hashOf({ tool, input }: Pick<WaitAsk, 'tool' | 'input'>): string {
  return createHash('sha256')
    .update(JSON.stringify([tool, sorted(input)]))
    .digest('hex')
}

function sorted(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(sorted)
  if (typeof value !== 'object' || value === null) return value
  return Object.entries(value)
    .sort(([a], [b]) => (a < b ? -1 : 1))
    .map(([key, item]) => [key, sorted(item)])
}
