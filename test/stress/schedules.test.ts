/** A sample of `npm run stress:schedules`: the log has each slot once, also if commands die and clocks jump. */
import { afterAll, beforeAll, expect, test } from 'vitest'
import { FAKETIME, runSpan } from '../../stress/schedules/year.js'
import { Lab } from '../../stress/support/lab.js'
import { Random } from '../support/random.js'

let lab: Lab
beforeAll(() => {
  lab = Lab.open()
})
afterAll(() => lab.close())

test.skipIf(FAKETIME === undefined)(
  'each slot of two weeks with a change to summer time is in the log once',
  async () => {
    const { seed } = Random.announced('schedules')
    const counts = await runSpan(lab, {
      from: '2028-03-19T10:00:30.000Z',
      days: 14,
      steps: 12,
      kills: 0.3,
      seed,
    })
    expect(counts.violations).toEqual([])
    expect(counts.schedules).toBeGreaterThanOrEqual(15)
    expect(counts.ran).toBeGreaterThan(15)
  },
)
