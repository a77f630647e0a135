import { expect, test } from 'vitest'
import { totalText, usageText } from '../../../src/console/print/usage-text.js'

const USED = { input_tokens: 1234567, output_tokens: 0, runs: 1, runs_with_usage: 1, runs_with_cost: 1 }

test.each<[number, string]>([
  [0, '$0.0000'],
  [0.00001, '<$0.0001'],
  [0.25, '$0.2500'],
  [1234567.891, '$1,234,567.89'],
])('a cost of %d is shown as %s', (cost_usd, shown) => {
  expect(totalText({ ...USED, cost_usd })).toContain(`, ${shown};`)
})

test('an unknown usage is a dash, and an unknown model has no name', () => {
  const none = { input_tokens: 0, output_tokens: 0, runs: 2, runs_with_usage: 0, runs_with_cost: 0 }
  const text = usageText({
    by: 'model',
    since: null,
    total: none,
    rows: [{ model: null, ...USED }],
    removed: 0,
    damaged: [],
  })
  expect(text.split('\n')).toEqual([
    'TURNS  INPUT      CACHED  WRITTEN  OUTPUT  REASONING  COST  MODEL',
    '1      1,234,567  -       -        0       -          -     (unknown)',
    '2      -          -       -        -       -          -     total',
    'tokens known for 0 of 2 turns, cost for none',
  ])
})

test('at a narrow terminal, columns without any count are left out first, and a long name is cut off', () => {
  const counts = { ...USED, cache_read_tokens: 1200, cost_usd: 0.5 }
  const row = { path: `lead/${'a'.repeat(40)}`, ...counts }
  const used = { by: 'agent' as const, since: null, total: counts, rows: [row], removed: 0, damaged: [] }
  expect(usageText(used, 70).split('\n').slice(0, 2)).toEqual([
    'TURNS  INPUT      CACHED  OUTPUT  COST     AGENT',
    '1      1,234,567  1,200   0       $0.5000  lead/aaaaaaaaaaaaaaaaaaaaa…',
  ])
  expect(usageText(used, 40).split('\n').slice(0, 2)).toEqual([
    'TURNS  INPUT      OUTPUT  AGENT',
    '1      1,234,567  0       lead/aaaaaaaa…',
  ])
})
