// npm run stress:schedules -- [--days D] [--steps N] [--kills PART] [--seed S]
// Ticks schedules through a year under libfaketime, with kills, two tickers at once, changes to summer time, sleeps, and clocks that go
// back or ahead. Exits 1 unless the log alone has each slot exactly once, as run, skipped or missed.
import { parseArgs } from 'node:util'
import { FAKETIME, runSpan } from './schedules/year.js'
import { Lab } from './support/lab.js'
import { recordResult } from './support/result.mjs'

const { values } = parseArgs({
  options: {
    days: { type: 'string', default: '366' },
    steps: { type: 'string', default: '1500' },
    kills: { type: 'string', default: '0.3' },
    seed: { type: 'string', default: String(Date.now() % 1_000_000) },
  },
})
if (FAKETIME === undefined) throw new Error('libfaketime is not installed: apt-get install libfaketime')
const lab = Lab.open()
try {
  await lab.warm()
  console.log(`seed ${values.seed}`)
  const numbers = { days: Number(values.days), steps: Number(values.steps), kills: Number(values.kills) }
  // With a leap day, and both changes to and from summer time in each hemisphere.
  const counts = await runSpan(lab, {
    from: '2027-11-20T09:30:30.000Z',
    ...numbers,
    seed: Number(values.seed),
  })
  const { violations, ...details } = counts
  for (const violation of violations) console.log(violation)
  console.log(JSON.stringify(details))
  const sample = `17 schedules in 5 time zones, ${values.days} days from 2027-11-20, about ${values.steps} ticks`
  const slots = details.ran + details.skipped + details.missed
  recordResult({ lab: 'schedules', sample, cases: slots, violations: violations.length, details })
  process.exitCode = violations.length > 0 ? 1 : 0
} finally {
  lab.close()
}
