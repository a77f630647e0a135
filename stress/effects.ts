// npm run stress:effects -- [--modes rerun,check] [--every N] [--timed N] [--seed S] [--canary]
// Kills substrat while a tool charges a payment service: before each call of the system that changes something, and at random times,
// alone or with its tool. Exits 1 if the service and the log disagree. `--canary` breaks the identity of a call, which must be noticed.
import { parseArgs } from 'node:util'
import { PaymentService } from './effects/payment.js'
import { type Kill, MODES, type Mode, type Prepared, payThroughKills, prepare } from './effects/trial.js'
import { recordPoints, whyNoStrace } from './kill/strace.js'
import { brokenSources } from './mutants/canaries.js'
import { Lab, repository } from './support/lab.js'
import { recordResult } from './support/result.mjs'

const { values } = parseArgs({
  options: {
    modes: { type: 'string', default: MODES.join(',') },
    every: { type: 'string', default: '1' },
    timed: { type: 'string', default: '60' },
    seed: { type: 'string', default: String(Date.now() % 1_000_000) },
    canary: { type: 'boolean', default: false },
  },
})
const modes = values.modes.split(',') as Mode[]
let random = Number(values.seed)
const canary = { name: 'a call that runs again has another identity' }
const lab = Lab.open(values.canary ? brokenSources(canary) : undefined)
const service = await PaymentService.start(`${lab.root}/payments.db`, repository)
let kills = 0
let cases = 0
const violated: string[] = []
try {
  await lab.warm()
  console.log(`seed ${values.seed}`)
  for (const mode of modes) await sweep(await prepare(lab, service, mode))
} finally {
  service.stop()
  lab.close()
}
console.log(`${cases} errands, ${kills} kills, ${violated.length} violations`)
const sample = `two charges, ${modes.join(', ')}: each call of the system, and ${values.timed} random times each`
if (!values.canary) recordResult({ lab: 'effects', sample, cases: kills, violations: violated.length })
process.exitCode = violated.length > 0 === values.canary ? 0 : 1

async function sweep(prepared: Prepared): Promise<void> {
  const before = cases
  const had = kills
  const durationMs = await durationOf(prepared)
  for (const kill of await points(prepared)) await tryOnce(prepared, [kill])
  for (let n = 0; n < Number(values.timed); n++) {
    const timed = (): Kill => ({ afterMs: next() * durationMs, all: next() < 0.5 })
    // Recovery, and the check of a rule, die too.
    await tryOnce(prepared, n % 3 === 0 ? [timed(), timed(), timed()] : [timed()])
  }
  console.log(`${prepared.mode}: ${cases - before} errands, ${kills - had} kills`)
}

/** The time of an errand without a kill. */
async function durationOf(prepared: Prepared): Promise<number> {
  const beganAt = performance.now()
  await tryOnce(prepared, [])
  return performance.now() - beganAt
}

async function points(prepared: Prepared): Promise<Kill[]> {
  const why = whyNoStrace()
  if (why !== undefined) {
    console.log(`without the kills at each call of the system: ${why}`)
    return []
  }
  const home = lab.copyHome(prepared.home)
  const { points: all } = await recordPoints(lab, home, { argv: ['send', 'a', 'pay', '--key', 'k'] })
  lab.removeHome(home)
  return all.filter((_, index) => index % Number(values.every) === 0)
}

async function tryOnce(prepared: Prepared, planned: Kill[]): Promise<void> {
  const trial = await payThroughKills(lab, service, prepared, planned)
  cases += 1
  kills += trial.kills
  for (const violation of trial.violations) {
    violated.push(violation)
    console.log(`${prepared.mode}, ${JSON.stringify(planned)}: ${violation}`)
  }
}

/** mulberry32, so that a seed gives the same times. */
function next(): number {
  random = (random + 0x6d2b79f5) | 0
  let mixed = Math.imul(random ^ (random >>> 15), 1 | random)
  mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed
  return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32
}
