/** A decision about what a program asked is found again when it asks once more, and about nothing else. */
import { describe, expect, test } from 'vitest'
import { limits } from '../../src/limits.js'
import type { JsonObject, WaitAnswer, WaitAsk } from '../../src/provider/contract.js'
import { shortenedInput } from '../../src/turn/asks.js'
import { pluginPart } from './plugin-part.js'

interface Part {
  askedInput(input: JsonObject): JsonObject
  Decisions: new (decided: WaitAnswer) => { take(ask: WaitAsk): 'granted' | 'denied' | undefined }
  decisionPrompt(answer: WaitAnswer): string
}

const { askedInput, Decisions, decisionPrompt } = await pluginPart<Part>('shared/src/program/decisions')

const ask = (input: JsonObject): WaitAsk => ({ call_id: 'n', tool: 'Edit', input: askedInput(input) })

/** As it comes from the log, which has the asks of one wait cut to fit a line together. */
function approval(inputs: JsonObject[]): WaitAnswer {
  const room = Math.floor(limits.asksCharactersMax / inputs.length)
  const asks = inputs.map(ask).map((each) => ({ ...each, input: shortenedInput(each.input, room) }))
  return { decision: 'approve', text: '', asks }
}

const edits = (count: number, fields: number, characters: number): JsonObject[] =>
  Array.from({ length: count }, (_, nth) =>
    Object.fromEntries(
      Array.from({ length: fields }, (_, field) => [`f${field}`, `${nth}${'x'.repeat(characters)}`]),
    ),
  )

describe('an approval', () => {
  test.each([
    [1, 1, 100],
    [3, 7, 3900],
    [16, 2, 5000],
    [24, 1, 3000],
    [30, 3, 600],
  ])('of %i calls at once, of %i fields of %i characters, is for each of them, once', (...size) => {
    const inputs = edits(...size)
    const decisions = new Decisions(approval(inputs))
    expect(inputs.map((input) => decisions.take(ask(input)))).toEqual(inputs.map(() => 'granted'))
    expect(inputs.map((input) => decisions.take(ask(input)))).toEqual(inputs.map(() => undefined))
  })

  test.each<[string, (shown: JsonObject) => JsonObject]>([
    ['differs where it was not shown', () => ({ content: `${'x'.repeat(4500)}y${'x'.repeat(4499)}` })],
    ['is what was shown of it', (shown) => shown],
    ['has the digest of it as a field', ({ sha256 }) => ({ content: 'evil', sha256 })],
  ])('is not for a call that %s', (_, other) => {
    const input = { content: 'x'.repeat(9000) }
    const decisions = new Decisions(approval([input]))
    expect(decisions.take(ask(other(askedInput(input))))).toBeUndefined()
    expect(decisions.take(ask(input))).toBe('granted')
  })

  test('of a call that names a digest itself is not for the call that has it', () => {
    const { sha256 } = askedInput({ content: 'x'.repeat(9000) })
    const decisions = new Decisions(approval([{ command: 'ls', sha256 }]))
    expect(decisions.take(ask({ content: 'x'.repeat(9000) }))).toBeUndefined()
  })

  test('is told without our digest, which is no part of the call', () => {
    expect(decisionPrompt(approval(edits(1, 2, 1500)))).not.toContain('sha256')
  })
})
