import { readFileSync, writeFileSync } from 'node:fs'
import { expect, test } from 'vitest'
import { INVARIANTS, type Rebuild } from '../../src/audit/invariants.js'
import { VERDICTS } from '../../src/schema/words.js'
import { sectionsOf } from '../support/markdown.js'

const PAGE = 'docs/doctor.md'

const DOES: Record<Rebuild, string> = {
  log: 'continues from the undamaged part',
  snapshot: 'rebuilds it',
  keys: 'rebuilds it',
  visit: 'repairs it',
  index: 'rebuilds the index',
  marker: 'marks it',
  mail: 'sets it aside',
  mode: 'removes the rights',
  sweep: 'removes it',
}

const HEADINGS = {
  damaged: 'Damaged',
  needs_you: 'Needs you',
  repairs_itself: 'Repairs itself',
  harmless: 'Harmless',
}

test.each(VERDICTS)(
  'docs/doctor.md has every invariant of the verdict %s with its repair, and no other (WRITE_DOCS=1 writes them)',
  (verdict) => {
    const lines = Object.entries(INVARIANTS)
      .filter(([, row]) => row.verdict === verdict)
      .map(([invariant, { rebuild }]) =>
        rebuild === undefined ? `- ${invariant}` : `- ${invariant} (${DOES[rebuild]})`,
      )
    const heading = HEADINGS[verdict]
    if (process.env.WRITE_DOCS === '1') {
      const list = new RegExp(`(^### ${heading}\\n[^#]*?\\n)(- .*\\n)+`, 'm')
      writeFileSync(
        PAGE,
        readFileSync(PAGE, 'utf8').replace(list, (_, head: string) => `${head}${lines.join('\n')}\n`),
      )
    }
    const section = sectionsOf(readFileSync(PAGE, 'utf8')).find((each) => each.heading === heading)
    expect(section?.lines.filter((line) => line.startsWith('- '))).toEqual(lines)
  },
)

test('a row without an exit code needs no user, and a row with one has a next command', () => {
  for (const [invariant, { verdict, code, rebuild, remedy }] of Object.entries(INVARIANTS)) {
    expect(VERDICTS, invariant).toContain(verdict)
    expect(code !== null, invariant).toBe(verdict === 'damaged' || verdict === 'needs_you')
    if (verdict !== 'harmless') expect(rebuild ?? remedy, invariant).toBeDefined()
  }
})
