/** A decision applies to the same request when the program repeats it, and to no other. */
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

/** The decision as the log has it, with the requests of one wait clipped to fit a line. */
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
  ])('of %i calls at once, with %i fields of %i characters, covers each of them once', (...size) => {
    const inputs = edits(...size)
    const decisions = new Decisions(approval(inputs))
    expect(inputs.map((input) => decisions.take(ask(input)))).toEqual(inputs.map(() => 'granted'))
    expect(inputs.map((input) => decisions.take(ask(input)))).toEqual(inputs.map(() => undefined))
  })

  test.each<[string, (shown: JsonObject) => JsonObject]>([
    ['differs in the omitted part', () => ({ content: `${'x'.repeat(4500)}y${'x'.repeat(4499)}` })],
    ['equals the shown part', (shown) => shown],
    ['has its digest as a field', ({ sha256 }) => ({ content: 'evil', sha256 })],
  ])('does not cover a call that %s', (_, other) => {
    const input = { content: 'x'.repeat(9000) }
    const decisions = new Decisions(approval([input]))
    expect(decisions.take(ask(other(askedInput(input))))).toBeUndefined()
    expect(decisions.take(ask(input))).toBe('granted')
  })

  test('for a call with a digest field does not cover the call with that digest', () => {
    const { sha256 } = askedInput({ content: 'x'.repeat(9000) })
    const decisions = new Decisions(approval([{ command: 'ls', sha256 }]))
    expect(decisions.take(ask({ content: 'x'.repeat(9000) }))).toBeUndefined()
  })

  test('is prompted without the digest, which is not part of the call', () => {
    expect(decisionPrompt(approval(edits(1, 2, 1500)))).not.toContain('sha256')
  })
})
