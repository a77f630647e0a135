/** The sentence about a parked turn that a message replaces. It names the lost question or call, and how to decide instead. */
import { readableTime } from '../../clock.js'
import { callText } from '../../dispatch/call-text.js'
import { wordOf } from '../../dispatch/outcome.js'
import { decisionCommands } from '../../dispatch/turn-obstacle.js'
import type { Ask } from '../../schema/types.js'
import type { State, Wait } from '../../session/state.js'

export function supersededText(state: State, wait: Wait, asks: Ask[], by = 'this message'): string {
  const instead =
    wait.kind === 'not_before' ? `substrat resume ${wordOf(state)}` : decisionCommands(wordOf(state), wait)
  return `gave up ${parkedThing(wait, asks)} of ${state.path}; ${by} starts a new turn (instead of send: ${instead})`
}

export function parkedThing({ kind, not_before }: Wait, asks: Ask[]): string {
  if (kind === 'not_before') return `the turn that is rate limited until ${readableTime(not_before ?? '')}`
  // The record of a wait need not say what is asked.
  if (asks.length === 0) return THINGS[kind] ?? 'a pending approval'
  const thing = THINGS[kind]?.replace(/^a /, 'the ') ?? 'the pending approval'
  return `${thing} ${asks.map(askedText).join(', ')}`
}

const THINGS: Partial<Record<Wait['kind'], string>> = {
  input: 'a question',
  tool_result: 'the wait for a result',
  budget: 'the wait for a budget',
}

const ASKED_CHARACTERS_MAX = 200

/** The words that the person has read in the question, without further escapes. */
function askedText(ask: Ask): string {
  const { question } = ask.input
  const text = (typeof question === 'string' ? question : callText(ask)).replaceAll(/\s+/g, ' ').trim()
  const cut = text.length <= ASKED_CHARACTERS_MAX ? text : `${text.slice(0, ASKED_CHARACTERS_MAX)}…`
  return typeof question === 'string' ? `"${cut}"` : `(${cut})`
}
