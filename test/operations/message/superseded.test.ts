/** The words for a parked turn that a message meets. */
import { describe, expect, test } from 'vitest'
import { parkedThing } from '../../../src/operations/message/superseded.js'
import type { Wait } from '../../../src/session/state.js'

const wait = (kind: Wait['kind']): Wait => ({ kind, not_before: '2026-11-20T10:00:00Z' }) as Wait
const ask = { call_id: 'c', tool: 'shell', input: { command: 'make' } }

describe('a parked turn is named', () => {
  test.each([
    ['input', 'the question (shell: make)'],
    ['tool_result', 'the wait for a result (shell: make)'],
    ['approval', 'the pending approval (shell: make)'],
  ] as const)('by the calls of its record, if it waits for %s', (kind, text) => {
    expect(parkedThing(wait(kind), [ask])).toBe(text)
  })

  test.each([
    ['input', 'a question'],
    ['tool_result', 'the wait for a result'],
    ['approval', 'a pending approval'],
  ] as const)('without calls, if its record has none and it waits for %s', (kind, text) => {
    expect(parkedThing(wait(kind), [])).toBe(text)
  })

  test('without escapes of a text that has quotation marks, and cut if it is long', () => {
    const write = { call_id: 'c', tool: 'write_file', input: { path: 'a', content: 'one\ntwo' } }
    expect(parkedThing(wait('approval'), [write])).toBe(
      String.raw`the pending approval (write_file: path=a content="one\ntwo")`,
    )
    const asks = { call_id: 'c', tool: 'ask_operator', input: { question: 'Is\n"a" right?' } }
    expect(parkedThing(wait('input'), [asks])).toBe('the question "Is "a" right?"')
    const long = { ...ask, input: { command: 'x'.repeat(500) } }
    expect(parkedThing(wait('approval'), [long]).length).toBeLessThan(250)
  })
})
