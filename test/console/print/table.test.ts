import { expect, test } from 'vitest'
import { table } from '../../../src/console/print/table.js'

test('a column is as wide as a terminal shows its cells: East Asian letters and emoji take two columns', () => {
  const rows = [
    ['報告', 'a'],
    ['e\u0301te\u0301', 'b'],
    ['done ✅', 'c'],
    ['plain', 'd'],
  ]
  expect(table(['NAME', 'ID'], rows, (row) => row)).toBe(
    ['NAME     ID', '報告     a', 'e\u0301te\u0301      b', 'done ✅  c', 'plain    d'].join('\n'),
  )
})
