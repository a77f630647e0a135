/** A sample of `npm run stress:wire`, and defects that it must find. */
import { afterAll, expect, test } from 'vitest'
import { drawSeed, endCampaign, type Report } from '../../stress/wire/campaign.js'
import { DEFECTS, type Defect, DIALECTS, type Dialect, readersOf } from '../../stress/wire/readers.js'

const SEED = 7

afterAll(endCampaign)

test.each(DIALECTS)('answers of %s, framed and mutated, are read as they were meant', async (dialect) => {
  const report = await drawSeed(await readersOf(), dialect, SEED, 150)
  expect(report.findings).toEqual([])
  // A reader that refuses or marks everything would pass.
  expect(report.kept).toBeGreaterThan(50)
  expect(report.kept + report.marked + report.refused).toBe(150)
  expect(report.answers).toBe(150)
})

const FOUND_IN = {
  'calls are joined by their index': 'messages',
  'an answer without an end counts as complete': 'chat',
  'an unknown end counts as complete': 'messages',
  'only pieces of a text are read': 'responses',
  'deflate is read only with its header': 'chat',
  'a redirect with status 307 is not followed': 'messages',
} satisfies Record<Defect, Dialect>

test.each(Object.keys(DEFECTS) as Defect[])(
  'the fuzzer finds readers with this defect: %s',
  async (defect) => {
    const readers = await readersOf(defect)
    const reports: Report[] = []
    const isFound = (): boolean => reports.some(({ findings }) => findings.length > 0)
    for (let seed = SEED; !isFound() && seed < SEED + 4; seed += 1)
      reports.push(await drawSeed(readers, FOUND_IN[defect], seed, 250))
    const findings = reports.flatMap((report) => report.findings)
    expect(findings).toHaveLength(1)
    // The answers of the shrinking are not counted.
    expect(reports.at(-1)?.answers).toBeLessThanOrEqual(250)
    const { answers, kept, marked, refused } = reports.at(-1) as Report
    expect(kept + marked + refused).toBe(answers - 1)
  },
)
