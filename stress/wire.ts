// npm run stress:wire -- [--seed 1] [--answers 100000] [--only DIALECT,…] [--path P] [--defect NAME]
// Sends known answers to the readers of the plugins, in each dialect, framed and mutated in many ways. Exits 1 if an answer is read
// as another one. With --defect it breaks a reader, and exits 1 if that is not found.
import { parseArgs } from 'node:util'
import { recordResult } from './support/result.mjs'
import { drawSeed, endCampaign, type Finding } from './wire/campaign.js'
import { type Defect, DIALECTS, type Dialect, readersOf } from './wire/readers.js'

const { values } = parseArgs({
  options: {
    seed: { type: 'string', default: String(Date.now() % 1_000_000) },
    answers: { type: 'string', default: '100000' },
    only: { type: 'string', default: DIALECTS.join(',') },
    /** Repeats one answer of a seed. */
    path: { type: 'string' },
    defect: { type: 'string' },
  },
})
const ANSWERS_OF_A_SEED = 500
const VIOLATIONS_MAX = 20

const dialects = values.only.split(',') as Dialect[]
for (const dialect of dialects)
  if (!DIALECTS.includes(dialect)) throw new Error(`--only takes ${DIALECTS.join(', ')}, not ${dialect}`)
const readers = await readersOf(values.defect as Defect | undefined)
const answers = Number(values.answers)
const first = Number(values.seed)
console.log(`seed ${first}`)
const totals = { answers: 0, kept: 0, marked: 0, refused: 0 }
let violations = 0
for (let seed = first; totals.answers < answers; seed += 1) {
  for (const dialect of dialects) {
    const left = Math.min(ANSWERS_OF_A_SEED, answers - totals.answers)
    if (left <= 0) break
    const report = await drawSeed(readers, dialect, seed, left, values.path)
    for (const name of ['answers', 'kept', 'marked', 'refused'] as const) totals[name] += report[name]
    for (const finding of report.findings) print(finding)
    violations += report.findings.length
  }
  // A seed that fails ends early, and the next seed goes on. A reader that fails always would never come to the end.
  const isEnough = violations >= (values.defect === undefined ? VIOLATIONS_MAX : 1)
  if (values.path !== undefined || isEnough) break
}
endCampaign()
recordResult({
  lab: 'wire',
  sample: `${totals.answers} answers of ${dialects.join(', ')} from seed ${first}`,
  cases: totals.answers,
  violations,
  details: totals,
})
const { kept, marked, refused } = totals
console.log(
  `${totals.answers} answers: ${kept} kept, ${marked} marked, ${refused} refused; ${violations} violations`,
)
if (values.defect !== undefined) console.log(`${violations > 0 ? 'caught' : 'NOT CAUGHT'}: ${values.defect}`)
if (violations > 0 === (values.defect === undefined)) process.exitCode = 1

function print({ dialect, seed, path, what, drawn, bytes }: Finding): void {
  const mutated = drawn.isWhole ? ['whole'] : drawn.mutated.map(({ kind }) => kind)
  console.log(`VIOLATION ${dialect} (${mutated.join(', ') || 'as sent'}): ${what}`)
  console.log(`  meant: ${JSON.stringify(drawn.meant)}\n  bytes: ${JSON.stringify(bytes)}`)
  console.log(`  again: npm run stress:wire -- --only ${dialect} --seed ${seed} --answers 500 --path ${path}`)
}
