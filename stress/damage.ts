// npm run stress:damage -- [--every 10] [--bits] [--file agents/a/events.jsonl] [--kind 'byte deleted'] [--at 17] [--json FILE]
//                          [--command 'send b …'] [--seed 6] [--seeds N] [--canary NAME]
// Damages each byte of a small home in each way. Exits 1 if a command answers wrongly or crashes. Every reading command runs on
// each damage. The writing commands take turns; all of them run if the damage is not of a byte, or if --at names it. The
// ids of the home follow from the seed. --seeds N takes a sample (such as --every 2999) of the homes of N seeds. With --canary it runs
// on a program broken by a mutant (stress/mutants/canaries.ts) until that is caught, and exits 1 if it is not.
import { writeFileSync } from 'node:fs'
import { parseArgs } from 'node:util'
import { commandsFor, WRITING } from './damage/answers.js'
import { type Damage, damagesOf } from './damage/damages.js'
import { makeHome, SEED } from './damage/home.js'
import { describeViolations, summary } from './damage/report.js'
import { sample } from './damage/sample.js'
import { Trials } from './damage/trial.js'
import { MachineLab } from './machine/lab.js'
import { everyNth, recordResult } from './support/result.mjs'

const { values } = parseArgs({
  options: {
    every: { type: 'string', default: '1' },
    /** All bits of each byte. */
    bits: { type: 'boolean', default: false },
    file: { type: 'string' },
    kind: { type: 'string' },
    at: { type: 'string' },
    /** The only writing command to run. */
    command: { type: 'string' },
    seed: { type: 'string' },
    seeds: { type: 'string' },
    json: { type: 'string' },
    canary: { type: 'string' },
  },
})

if (values.seeds === undefined) await damageEach()
else await sampleSeeds(Number(values.seeds))
process.exit()

function chosenFor(damage: Damage, turn: number): string[][] {
  if (values.command !== undefined) return WRITING.filter((argv) => argv.join(' ') === values.command)
  return values.at === undefined ? commandsFor(damage, turn) : WRITING
}

async function damageEach(): Promise<void> {
  const start = performance.now()
  const lab = MachineLab.open()
  try {
    const home = await makeHome(lab, Number(values.seed ?? SEED))
    const trials = await Trials.open(lab, home)
    let index = 0
    for (const damage of damagesOf(home, { allBits: values.bits })) {
      index += 1
      const isMeant =
        damage.file === (values.file ?? damage.file) &&
        damage.kind === (values.kind ?? damage.kind) &&
        damage.at === Number(values.at ?? damage.at)
      if (!isMeant || index % Number(values.every) !== 0) continue
      await trials.run(damage, chosenFor(damage, index))
      if (values.canary !== undefined && trials.violations.length > 0) break
    }
    for (const text of describeViolations(trials)) console.log(text)
    console.log(summary(trials, (performance.now() - start) / 1000))
    if (values.json !== undefined)
      writeFileSync(values.json, `${JSON.stringify([...trials.counts], null, 2)}\n`)
    recordResult({
      lab: 'damage',
      sample: everyNth(Number(values.every), 'damage of one home'),
      cases: [...trials.counts.values()].reduce((sum, { damages }) => sum + damages, 0),
      violations: trials.violations.length,
    })
    const isBroken = trials.violations.length > 0
    if (values.canary !== undefined) console.log(`${isBroken ? 'caught' : 'NOT CAUGHT'}: ${values.canary}`)
    process.exitCode = isBroken === (values.canary === undefined) ? 1 : 0
  } finally {
    lab.close()
  }
}

/** Like the test: every damage of each home that is not about bytes, and a few of the others. */
async function sampleSeeds(seeds: number): Promise<void> {
  const first = Number(values.seed ?? SEED)
  let [damages, failures] = [0, 0]
  for (let seed = first; seed < first + seeds; seed++) {
    const { violations, count } = await sample(seed, Number(values.every))
    damages += count
    if (violations.length > 0) failures += 1
    for (const text of violations) console.log(text)
  }
  console.log(`seeds ${seeds}, damages ${damages}, ${failures} seeds with violations`)
  const sampled = `${everyNth(Number(values.every), 'damage')} of ${seeds} homes`
  recordResult({ lab: 'damage', sample: sampled, cases: damages, violations: failures })
  process.exitCode = failures > 0 ? 1 : 0
}
