/**
 * Applies the user's decision to the requests of a later turn, in which the program asks again.
 *
 * Invariants:
 * - A decision applies to a call in these very words, not to a tool.
 * - An approval covers one call.
 */
import { createHash } from 'node:crypto'
import type { JsonObject, WaitAnswer, WaitAsk } from 'substrat/provider'
import { clippedInput, objectOf } from './json.js'

export class Decisions {
  private readonly granted: string[]
  private readonly denied: string[]

  constructor(decided: WaitAnswer | undefined) {
    const keys = decided?.asks.map(keyOf) ?? []
    this.granted = decided?.decision === 'approve' ? keys : []
    this.denied = decided?.decision === 'deny' ? keys : []
  }

  /** Undefined if the user has not decided about this request. */
  take(ask: WaitAsk): 'granted' | 'denied' | undefined {
    const key = keyOf(ask)
    if (this.denied.includes(key)) return 'denied'
    const grant = this.granted.indexOf(key)
    if (grant === -1) return undefined
    this.granted.splice(grant, 1)
    return 'granted'
  }
}

/** A longer input can be truncated where it is shown, here or by substrat. */
const WHOLE_CHARACTERS_MAX = 2000

/**
 * Clips an input that is too long to show, and adds a digest of the whole, so that an approval covers only that
 * input.
 */
export function askedInput(input: JsonObject): JsonObject {
  const whole = JSON.stringify(sortedKeys(input))
  // A program's own `sha256` field could impersonate another call.
  if (whole.length <= WHOLE_CHARACTERS_MAX && !('sha256' in input)) return input
  return { ...clippedInput(input), sha256: createHash('sha256').update(whole).digest('hex') }
}

/**
 * The decision as a prompt. The turn that asked was cancelled, so the program sees its call as failed, and must learn
 * that it may now make it.
 */
export function decisionPrompt({ decision, text, asks }: WaitAnswer): string {
  // The digest is not part of the call.
  const calls = asks
    .map(({ tool, input: { sha256: _, ...input } }) => `- ${tool} ${JSON.stringify(input)}`)
    .join('\n')
  const said = text.trim()
  switch (decision) {
    case 'approve':
      return [
        `The user has granted permission for this:\n${calls}`,
        'It has not run yet. Do it now, exactly as above, and then continue your task.',
        ...(said === '' ? [] : [`The user says: ${said}`]),
      ].join('\n\n')
    case 'deny':
      return [
        `The user has denied permission for this:\n${calls}`,
        'It has not run. Do not try it again or achieve the same in another way. Continue without it.',
        ...(said === '' ? [] : [`The user says: ${said}`]),
      ].join('\n\n')
    case 'input':
      return said
  }
}

function keyOf({ tool, input }: WaitAsk): string {
  return JSON.stringify([tool, typeof input.sha256 === 'string' ? input.sha256 : sortedKeys(input)])
}

/** Storing and reading an object can change the order of its keys. */
function sortedKeys(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(sortedKeys)
  const object = objectOf(value)
  if (object === undefined) return value
  const entries = Object.entries(object).sort(([a], [b]) => (a < b ? -1 : 1))
  return { object: entries.map(([key, item]) => [key, sortedKeys(item)]) }
}
