import { readFileSync, writeFileSync } from 'node:fs'
import { expect, test } from 'vitest'
import { INVARIANTS, type Rebuild, VERDICTS } from '../../src/audit/invariants.js'
import { rowsOf } from '../support/markdown.js'

const DOES: Record<Rebuild, string> = {
  log: 'goes on with what is whole',
  snapshot: 'makes it again from the log',
  keys: 'makes it again from the log',
  visit: 'puts it right',
  index: 'makes the index again',
  marker: 'marks it',
  mail: 'sets it aside',
  mode: 'takes the rights away',
  sweep: 'removes it',
}

test('docs/doctor.md has every invariant with its verdict and remedy, and no other (WRITE_DOCS=1 writes them)', () => {
  const rows = Object.entries(INVARIANTS).map(([invariant, { verdict, rebuild, remedy }]) => [
    invariant,
    verdict.replaceAll('_', ' '),
    rebuild === undefined ? '' : DOES[rebuild],
    (remedy ?? '')
      .replace(/; or go on .*/, '')
      .replaceAll(/\{(\w+)\}/g, (_, word: string) => word.toUpperCase()),
  ])
  if (process.env.WRITE_DOCS === '1') {
    const page = readFileSync('docs/doctor.md', 'utf8')
    const table = rows.map((row) => `| ${row.join(' | ')} |\n`.replaceAll('  ', ' ')).join('')
    writeFileSync(
      'docs/doctor.md',
      page.replace(/(\|---\|---\|---\|---\|\n)(\|.*\n)*/, (_, head: string) => head + table),
    )
  }
  expect(rowsOf(readFileSync('docs/doctor.md', 'utf8'))).toEqual(rows)
})

test('what needs nobody has no exit status, and what needs somebody has a next command', () => {
  for (const [invariant, { verdict, code, rebuild, remedy }] of Object.entries(INVARIANTS)) {
    expect(VERDICTS, invariant).toContain(verdict)
    expect(code !== null, invariant).toBe(verdict === 'damaged' || verdict === 'needs_you')
    if (verdict !== 'harmless') expect(rebuild ?? remedy, invariant).toBeDefined()
  }
})
