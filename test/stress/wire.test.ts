/** A sample of `npm run stress:wire`, and defects that it must find. */
import { expect, test } from 'vitest'
import { drawSeed, type Report } from '../../stress/wire/campaign.js'
import { DEFECTS, type Defect, DIALECTS, type Dialect, readersOf } from '../../stress/wire/readers.js'

const SEED = 7

test.each(DIALECTS)('answers of %s, framed and mutated, are read as they were meant', async (dialect) => {
  const report = await drawSeed(await readersOf(), dialect, SEED, 150)
  expect(report.findings).toEqual([])
  // A reader that refuses or marks everything would pass.
  expect(report.kept).toBeGreaterThan(50)
})

const FOUND_IN = {
  'calls are joined by their index': 'messages',
  'an answer without an end counts as complete': 'chat',
  'an unknown end counts as complete': 'messages',
  'only pieces of a text are read': 'responses',
} satisfies Record<Defect, Dialect>

test.each(Object.keys(DEFECTS) as Defect[])(
  'the fuzzer finds readers with this defect: %s',
  async (defect) => {
    const readers = await readersOf(defect)
    const findings: Report['findings'] = []
    for (let seed = SEED; findings.length === 0 && seed < SEED + 4; seed += 1)
      findings.push(...(await drawSeed(readers, FOUND_IN[defect], seed, 250)).findings)
    expect(findings).toHaveLength(1)
  },
)
