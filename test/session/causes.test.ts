/** The text of a failure for the user: one plain sentence with the cause, and the next command. */
import { describe, expect, test } from 'vitest'
import { causeOf } from '../../src/schema/reasons.js'
import { FAILURE_TYPES } from '../../src/schema/words.js'
import { nextCommandAfter, nextStep, TOKENS_USED_UP, toolTimedOut } from '../../src/session/causes.js'

describe.each(FAILURE_TYPES)('a failure of type %s', (type) => {
  test('becomes a sentence that ends with the message of the provider', () => {
    expect(causeOf({ type, message: 'host:1 said so' })).toMatch(/^([^:\n]{10,60}: )?host:1 said so$/)
  })

  test('has a next step with a command to paste', () => {
    const error = { type, message: 'no' }
    expect(nextStep(error, "it's")).toMatch(
      /substrat (retry|send|set|log|resume|spawn|compact) ('it'\\''s'|'…')/,
    )
  })
})

test('the sentence ends with the command that show has, except if show must read the log first', () => {
  for (const type of FAILURE_TYPES) {
    const [sentence, command] = [nextStep, nextCommandAfter].map((step) =>
      step({ type, message: 'no' }, 'notes', false),
    ) as [string, string]
    expect(sentence.slice(sentence.lastIndexOf(': ') + 2)).toBe(
      type === 'invalid' ? 'substrat show notes' : command,
    )
  }
})

test('no cause mentions API, HTTP, JSON or a status code', () => {
  for (const type of FAILURE_TYPES)
    expect(causeOf({ type, message: '' })).not.toMatch(/\b(API|HTTP|JSON|[45]\d\d)\b/)
})

test('an unreachable AI provider is named as the cause, with the next step', () => {
  const error = { type: 'unreachable', message: 'api.test cannot be reached (ENOTFOUND)' } as const
  expect(causeOf(error)).toBe(
    'the connection to its AI provider failed: api.test cannot be reached (ENOTFOUND)',
  )
  expect(nextStep(error, 'notes')).toBe('check the network connection, then: substrat retry notes')
})

test('the next step after an empty answer names the limit of tokens only if that was used up', () => {
  const next = (message: string): string => nextStep({ type: 'empty', message }, 'notes')
  expect(next(`${TOKENS_USED_UP} (9)`)).toContain('substrat set notes --option max_tokens=NUMBER')
  expect(next('the model answered with nothing (its end: tool_calls)')).toBe(
    'try again: substrat retry notes',
  )
})

test('a crash is described in its own words', () => {
  expect(causeOf({ type: 'crashed', message: 'the command exited 3' })).toBe('the command exited 3')
})

test('a tool that timed out is named, with its limit and the command that raises it', () => {
  expect(toolTimedOut('shell', 120_000)).toBe(
    'the tool shell timed out and was stopped after 120 s; the agent continues with that result (to give tools more time: substrat config set tool_timeout 30m)',
  )
})
