/** The status line of a turn shows what the turn has used. */
import { expect, test } from 'vitest'
import type { Signs } from '../../../src/console/live/signs.js'
import { TurnLine } from '../../../src/console/live/turn-line.js'
import type { Usage } from '../../../src/schema/types.js'

const SIGNS = { dot: '·', ellipsis: '…', dim: ['', ''] } as unknown as Signs

function lineAfter(usage: Usage, columns = 100): string {
  const turn = new TurnLine('bot')
  turn.used(usage)
  return turn.line(columns, SIGNS)
}

test.each<[Usage, string]>([
  [{ input_tokens: 0, output_tokens: 0 }, ''],
  [{ input_tokens: 1, output_tokens: 56 }, ' · 1 in 56 out'],
  [{ input_tokens: 1234, output_tokens: 56, cost_usd: 0.0441 }, ' · 1.2k in 56 out · $0.04'],
  [{ input_tokens: 999_499, output_tokens: 12_345, cost_usd: 12.5 }, ' · 999k in 12k out · $12.50'],
  [{ input_tokens: 2_500_000, output_tokens: 1, cost_usd: 0.00042 }, ' · 2.5M in 1 out · $0.0004'],
])('%j is shown as "%s"', (usage, text) => {
  expect(lineAfter(usage).replace(/\d+ s/g, 'T')).toBe(`bot · starting · T · turn T${text}`)
})

test('a narrow line leaves out the usage before the times, and the times before the name', () => {
  const usage = { input_tokens: 1234, output_tokens: 56, cost_usd: 0.04 }
  expect(lineAfter(usage, 35)).toMatch(/^bot · starting · \d+ s · turn \d+ s$/)
  expect(lineAfter(usage, 20)).toMatch(/^bot · starting · \d+ s$/)
  expect(lineAfter(usage, 12)).toBe('bot · start…')
})

test('the usage of the requests of a model adds up', () => {
  const turn = new TurnLine('bot')
  const usage = { input_tokens: 1000, output_tokens: 20, cost_usd: 0.01 }
  const responded = { kind: 'model.responded', usage } as Parameters<TurnLine['take']>[0]
  for (const _ of [1, 2, 3]) turn.take(responded, SIGNS)
  expect(turn.line(100, SIGNS)).toContain(' · 3k in 60 out · $0.03')
})
