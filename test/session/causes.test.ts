/** What a person is told of a failure: one plain sentence by its cause, and what to do next. */
import { describe, expect, test } from 'vitest'
import { causeOf, nextStep, toolTimedOut } from '../../src/session/causes.js'
import { FAILURE_TYPES } from '../../src/session/fields.js'

describe.each(FAILURE_TYPES)('%s', (type) => {
  test('is a sentence that ends with what the provider said', () => {
    expect(causeOf({ type, message: 'host:1 said so' })).toMatch(/^([^:\n]{10,60}: )?host:1 said so$/)
  })

  test('has a next step, which names a command that can be pasted', () => {
    expect(nextStep(type, "it's")).toMatch(/substrat (retry|send|set|log|resume|spawn) ('it'\\''s'|'…')/)
  })
})

test('no sentence is in words of the protocol', () => {
  for (const type of FAILURE_TYPES)
    expect(causeOf({ type, message: '' })).not.toMatch(/\b(API|HTTP|JSON|[45]\d\d)\b/)
})

test('an AI provider that cannot be reached is said to be that, and what to do', () => {
  const error = { type: 'unreachable', message: 'api.test cannot be reached (ENOTFOUND)' } as const
  expect(causeOf(error)).toBe('its AI provider cannot be reached: api.test cannot be reached (ENOTFOUND)')
  expect(nextStep('unreachable', 'notes')).toBe('check the network connection, then: substrat retry notes')
})

test('anything else is said in its own words', () => {
  expect(causeOf({ type: 'crashed', message: 'the command exited 3' })).toBe('the command exited 3')
})

test('a tool that timed out is named, with its time and how to give it more', () => {
  expect(toolTimedOut('shell', 120_000)).toBe(
    'the tool shell timed out and was stopped after 120 s; the agent continues with that result (to give tools more time: substrat config set tool_timeout 30m)',
  )
})
