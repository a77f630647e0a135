// npm run stress:powercut -- [--scenarios send,spawn] [--seed N] [--sample N] [--every N] [--nested N] [--json FILE]
//   or --drops [--points log.sync], or --real ext4,xfs,btrfs [--cuts N] [--canary]
// Cuts the power after each step of each command, and tries every state that the disk may be in then.
import { writeFileSync } from 'node:fs'
import { parseArgs } from 'node:util'
import { brokenSources } from './mutants/canaries.js'
import { Desk } from './powercut/desk.js'
import { type Dropped, dropSync, HARMLESS, syncPointsOf } from './powercut/drops.js'
import { FILE_SYSTEMS } from './powercut/loop-disk.js'
import { cutReally, type RealReport } from './powercut/real.js'
import { describeCommand, describeDrop, describeReal, describeViolation, summary } from './powercut/report.js'
import { type SurveyReport, survey } from './powercut/survey.js'
import { scenariosOf } from './scenarios/all.js'
import { Lab } from './support/lab.js'
import { countOf, everyNth, recordResult } from './support/result.mjs'

const { values } = parseArgs({
  options: {
    scenarios: { type: 'string' },
    seed: { type: 'string', default: '1' },
    sample: { type: 'string', default: '20' },
    every: { type: 'string', default: '1' },
    nested: { type: 'string', default: '50' },
    'nested-sample': { type: 'string', default: '5' },
    state: { type: 'string' },
    'nested-state': { type: 'string' },
    /** Cuts real file systems under real processes instead: ext4,xfs,btrfs. */
    real: { type: 'string' },
    cuts: { type: 'string', default: '100' },
    /** Runs a program that does not sync its logs. The lab must find a violation. */
    canary: { type: 'boolean', default: false },
    /** Leaves out each sync in turn, or the named ones, and prints the first violation. */
    drops: { type: 'boolean', default: false },
    points: { type: 'string' },
    json: { type: 'string' },
  },
})

const seed = Number(values.seed)
const words = values.scenarios?.split(',')
const SCENARIOS = scenariosOf('powercut')
const chosen = SCENARIOS.filter(({ name }) => words?.includes(name) ?? true)
const scenarios = countOf(chosen.length, SCENARIOS.length, 'scenarios')
const desk = Desk.open()
if (values.state !== undefined) desk.onEnd = (argv, ended) => console.log(describeCommand(argv, ended))
try {
  if (values.real !== undefined) await tryReal(values.real.split(','))
  else if (values.drops) await tryDrops()
  else await tryScenarios()
} finally {
  desk.close()
}
process.exit()

async function tryScenarios(): Promise<void> {
  const reports: SurveyReport[] = []
  for (const scenario of chosen) {
    const report = await survey(desk, scenario, {
      seed,
      sample: Number(values.sample),
      every: Number(values.every),
      nestedEvery: Number(values.nested),
      nestedSample: Number(values['nested-sample']),
      only: values.state,
      onlyNested: values['nested-state'],
    })
    reports.push(report)
    console.log(summary([report]).split('\n')[1])
    for (const violation of report.violations.slice(0, 10)) console.log(describeViolation(violation, seed))
  }
  console.log(`\n${summary(reports)}`)
  if (values.json !== undefined) writeFileSync(values.json, `${JSON.stringify(reports, null, 2)}\n`)
  recordResult({
    lab: 'powercut',
    sample: `${everyNth(Number(values.every), 'disk state')} of ${scenarios}`,
    cases: reports.reduce((sum, { states, nestedStates }) => sum + states + nestedStates, 0),
    violations: reports.flatMap(({ violations }) => violations).length,
  })
  if (reports.some(({ violations }) => violations.length > 0)) process.exitCode = 1
}

async function tryDrops(): Promise<void> {
  const named = values.points?.split(',')
  const points = await syncPointsOf(desk, chosen, seed)
  const results: Dropped[] = []
  // A harmless one takes long, because every scenario with it is tried to the end.
  const inOrder = [...points].sort(([a], [b]) => Number(a in HARMLESS) - Number(b in HARMLESS))
  for (const [point, scenarios] of inOrder) {
    if (named?.includes(point) === false) continue
    const result = await dropSync(desk, scenarios, point, { seed, every: Number(values.every) })
    console.log(describeDrop(result))
    results.push(result)
  }
  const wrong = results.filter(({ point, found }) => (found === undefined) !== point in HARMLESS)
  if (wrong.length > 0) process.exitCode = 1
  recordResult({
    lab: 'powercut-drops',
    sample: `${countOf(results.length, points.size, 'syncs')}, ${everyNth(Number(values.every), 'disk state')} of ${scenarios}`,
    cases: results.length,
    violations: wrong.length,
    details: results.map(({ point, found }) => ({ point, is_needed: found !== undefined })),
  })
}

async function tryReal(names: string[]): Promise<void> {
  const lab = Lab.open(values.canary ? brokenSources({ name: 'append does not fsync the batch' }) : undefined)
  process.once('exit', () => lab.close())
  for (const signal of ['SIGINT', 'SIGTERM'] as const) process.once(signal, () => process.exit(1))
  try {
    await lab.warm()
    const reports: RealReport[] = []
    for (const fileSystem of FILE_SYSTEMS.filter((name) => names.includes(name))) {
      const onCut = (report: RealReport): void => {
        if (report.cuts % 10 === 0) console.log(describeReal(report))
      }
      const report = await cutReally(lab, fileSystem, { seed, cuts: Number(values.cuts), onCut })
      console.log(describeReal(report))
      reports.push(report)
      const isSkipped = report.skipped !== undefined
      if (!isSkipped && report.violations.length > 0 !== values.canary) process.exitCode = 1
    }
    const cut = reports.filter(({ skipped }) => skipped === undefined)
    recordResult({
      lab: 'powercut-real',
      sample: cut.map(({ fileSystem, cuts }) => `${fileSystem} ${cuts}`).join(', '),
      cases: cut.reduce((sum, { cuts }) => sum + cuts, 0),
      violations: cut.flatMap(({ violations }) => violations).length,
      details: reports,
    })
  } finally {
    lab.close()
  }
}
