// npm run stress:damage -- [--every 10] [--bits] [--file agents/a/events.jsonl] [--kind 'byte deleted'] [--at 17] [--json FILE]
//                          [--canary NAME]
// Damages each byte of a small home in each way; exits 1 where a command answers wrongly, or dies of it. With --canary it runs
// on a broken variant of the program (stress/damage/canaries.json) until that is caught, and exits 1 where it is not.
import { writeFileSync } from 'node:fs'
import { parseArgs } from 'node:util'
import { damagesOf } from './damage/damages.js'
import { makeHome } from './damage/home.js'
import { describeViolations, summary } from './damage/report.js'
import { Trials } from './damage/trial.js'
import { MachineLab } from './machine/lab.js'

const { values } = parseArgs({
  options: {
    every: { type: 'string', default: '1' },
    /** All bits of each byte. */
    bits: { type: 'boolean', default: false },
    file: { type: 'string' },
    kind: { type: 'string' },
    at: { type: 'string' },
    json: { type: 'string' },
    canary: { type: 'string' },
  },
})

const start = performance.now()
const lab = MachineLab.open()
try {
  const home = await makeHome(lab)
  const trials = await Trials.open(lab, home)
  let index = 0
  for (const damage of damagesOf(home, { allBits: values.bits })) {
    index += 1
    const isMeant =
      damage.file === (values.file ?? damage.file) &&
      damage.kind === (values.kind ?? damage.kind) &&
      damage.at === Number(values.at ?? damage.at)
    if (!isMeant || index % Number(values.every) !== 0) continue
    await trials.run(damage, index)
    if (values.canary !== undefined && trials.violations.length > 0) break
  }
  for (const text of describeViolations(trials.violations)) console.log(text)
  console.log(summary(trials, (performance.now() - start) / 1000))
  if (values.json !== undefined)
    writeFileSync(values.json, `${JSON.stringify([...trials.counts], null, 2)}\n`)
  const isBroken = trials.violations.length > 0
  if (values.canary !== undefined) console.log(`${isBroken ? 'caught' : 'NOT CAUGHT'}: ${values.canary}`)
  process.exitCode = isBroken === (values.canary === undefined) ? 1 : 0
} finally {
  lab.close()
}
process.exit()
