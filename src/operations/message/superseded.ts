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
  const texts = asks.length === 0 ? undefined : asks.map(askedText).join(', ')
  switch (kind) {
    case 'input':
      return texts === undefined ? 'a question' : `the question ${texts}`
    case 'tool_result':
      return texts === undefined ? 'the wait for a result' : `the wait for the result of ${texts}`
    default:
      return texts === undefined ? 'a pending approval' : `the pending approval of ${texts}`
  }
}

function askedText(ask: Ask): string {
  const { question } = ask.input
  return JSON.stringify(typeof question === 'string' ? question : callText(ask))
}
