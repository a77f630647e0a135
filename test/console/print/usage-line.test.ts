import { expect, test } from 'vitest'
import { signsOf } from '../../../src/console/live/signs.js'
import { closingLine } from '../../../src/console/print/usage-line.js'

const plain = signsOf({ NO_COLOR: '1' })

test.each([
  [{ input_tokens: 1234, output_tokens: 56, cost_usd: 0.42 }, '12 s · 1.2k in 56 out · $0.42'],
  [{ input_tokens: 3, output_tokens: 4 }, '12 s · 3 in 4 out'],
  [{ input_tokens: 0, output_tokens: 0 }, '12 s'],
  [null, '12 s'],
])('after a turn with the usage %j the line is %s', (usage, line) => {
  expect(closingLine(12_000, usage, plain)).toBe(line)
})
