/**
 * What a person has decided about what a program asked permission for, in a later turn, in which it asks again.
 *
 * Invariants: a decision is about a call in these very words, not about a tool; an approval is used up by one call.
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

  /** Undefined where nobody has decided. */
  take(ask: WaitAsk): 'granted' | 'denied' | undefined {
    const key = keyOf(ask)
    if (this.denied.includes(key)) return 'denied'
    const grant = this.granted.indexOf(key)
    if (grant === -1) return undefined
    this.granted.splice(grant, 1)
    return 'granted'
  }
}

/** Longer than this it may be cut short where it is shown, here or by substrat beside others. */
const WHOLE_CHARACTERS_MAX = 2000

/** One that is too long to be shown has a digest of the whole: an approval is for that and for nothing else. */
export function askedInput(input: JsonObject): JsonObject {
  const whole = JSON.stringify(sortedKeys(input))
  // A field of that name which the program has made itself would stand for another call.
  if (whole.length <= WHOLE_CHARACTERS_MAX && !('sha256' in input)) return input
  return { ...clippedInput(input), sha256: createHash('sha256').update(whole).digest('hex') }
}

/**
 * The decision as a prompt. The turn that asked was cancelled, so for the program the call has failed: it has to be told
 * that it may make it after all.
 */
export function decisionPrompt({ decision, text, asks }: WaitAnswer): string {
  // The digest is for us: it is no part of the call.
  const calls = asks
    .map(({ tool, input: { sha256: _, ...input } }) => `- ${tool} ${JSON.stringify(input)}`)
    .join('\n')
  const said = text.trim()
  switch (decision) {
    case 'approve':
      return [
        `The person whom you asked has granted permission for this:\n${calls}`,
        'It was held back and has not run. Do it now, exactly as it is above, and then go on with your task.',
        ...(said === '' ? [] : [`The person says: ${said}`]),
      ].join('\n\n')
    case 'deny':
      return [
        `The person whom you asked has denied permission for this:\n${calls}`,
        'It has not run. Do not try it again, and do not do the same in another way: go on without it.',
        ...(said === '' ? [] : [`The person says: ${said}`]),
      ].join('\n\n')
    case 'input':
      return said
  }
}

function keyOf({ tool, input }: WaitAsk): string {
  return JSON.stringify([tool, typeof input.sha256 === 'string' ? input.sha256 : sortedKeys(input)])
}

/** As it was stored and read again, an object may have its keys in another order. */
function sortedKeys(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(sortedKeys)
  const object = objectOf(value)
  if (object === undefined) return value
  const entries = Object.entries(object).sort(([a], [b]) => (a < b ? -1 : 1))
  return { object: entries.map(([key, item]) => [key, sortedKeys(item)]) }
}
