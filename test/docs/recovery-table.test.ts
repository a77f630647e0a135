/** docs/recovery.md has the same recovery table as the code. */
import { readFileSync } from 'node:fs'
import { expect, test } from 'vitest'
import { RECOVERY_TABLE } from '../../src/recovery/table.js'

const MAIL_ROW = ['K', 'mail delivered in the log, file still in the inbox']

test('docs/recovery.md lists every row of the recovery table with its log state, and no other row', () => {
  const page = readFileSync('docs/recovery.md', 'utf8')
  const rows = [...page.matchAll(/^- \*\*([A-Z]\d?)\*\* (.*?) \(.+?\): .+$/gm)]
  const expected = Object.entries(RECOVERY_TABLE).map(([row, { found }]) => [row, found])
  expect(rows.map(([, row, found]) => [row, found])).toEqual([...expected, MAIL_ROW])
})
