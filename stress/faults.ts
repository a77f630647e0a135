// npm run stress:faults -- [--only machine,nested,taken,real] [--scenarios send,spawn] [--every 10] [--nested 20] [--real 'ulimit -n']
//                          [--step 17] [--fault 'EIO once'] [--point log.sync] [--json FILE] [--canary NAME]
// Each step of each command fails, once or permanently, also in the recovery that follows a kill. Another part runs real
// processes on a failing kernel. Exits 1 if the contract is broken. With --canary it runs on a program broken
// by a mutant (stress/mutants/canaries.ts) until that is caught, and exits 1 if it is not.
import { writeFileSync } from 'node:fs'
import { parseArgs } from 'node:util'
import { nestedOf } from './faults/nested.js'
import { EXPERIMENTS } from './faults/real.js'
import { coverage, describeExperiment, summary, violationsInShort } from './faults/report.js'
import { type ScenarioReport, type SweepOptions, sweep } from './faults/sweep.js'
import { sweepTaken } from './faults/taken.js'
import { MachineLab } from './machine/lab.js'
import { scenariosOf } from './scenarios/all.js'
import { Lab } from './support/lab.js'
import { countOf, everyNth, recordResult } from './support/result.mjs'

const { values } = parseArgs({
  options: {
    only: { type: 'string', default: 'machine,nested,taken,real' },
    scenarios: { type: 'string' },
    every: { type: 'string', default: '1' },
    /** Faults in recovery follow a kill before every N-th step that changes something. */
    nested: { type: 'string', default: '20' },
    real: { type: 'string' },
    step: { type: 'string' },
    fault: { type: 'string' },
    point: { type: 'string' },
    json: { type: 'string' },
    canary: { type: 'string' },
  },
})

const SCENARIOS = scenariosOf('faults')
const words = values.scenarios?.split(',')
const chosen = SCENARIOS.filter(({ name }) => words?.includes(name) ?? true)
// The report of that part uses this name in the command that repeats a case.
const isTaken = values.scenarios === 'taken'
if (chosen.length === 0 && !isTaken) {
  console.error(`--scenarios takes some of: ${SCENARIOS.map(({ name }) => name).join(', ')}`)
  process.exit(2)
}
const parts = isTaken ? ['taken'] : values.step === undefined ? values.only.split(',') : ['machine']
let isBroken = false
const results: Record<string, unknown> = {}
const tried = { cases: 0, violations: 0 }
if (parts.includes('machine') || parts.includes('nested')) await onMachine()
if (parts.includes('taken')) await whileInUse()
if (parts.includes('real')) await onKernel()
if (values.json !== undefined) writeFileSync(values.json, `${JSON.stringify(results, null, 2)}\n`)
recordResult({
  lab: 'faults',
  sample: `${everyNth(Number(values.every), 'fault')} of ${countOf(chosen.length, SCENARIOS.length, 'scenarios')} (${parts.join(', ')})`,
  ...tried,
})
if (values.canary !== undefined) console.log(`${isBroken ? 'caught' : 'NOT CAUGHT'}: ${values.canary}`)
process.exitCode = isBroken === (values.canary === undefined) ? 1 : 0
// A hung command that was killed may have left a handle that keeps this process alive.
process.exit()

async function onMachine(): Promise<void> {
  const lab = MachineLab.open()
  const empty = lab.image()
  const options: SweepOptions = {
    every: Number(values.every),
    isRotated: false,
    step: values.step === undefined ? undefined : Number(values.step),
    fault: values.fault,
    point: values.point,
  }
  try {
    for (const part of ['machine', 'nested'].filter((name) => parts.includes(name))) {
      const reports: ScenarioReport[] = []
      for (const scenario of chosen) {
        const nested =
          part === 'machine' ? [scenario] : await nestedOf(lab, empty, scenario, Number(values.nested))
        for (const each of nested) {
          if (values.canary !== undefined && isBroken) break
          reports.push(
            printReport(await sweep(lab, empty, each, { ...options, isRotated: part === 'nested' })),
          )
        }
      }
      console.log(`\n${part}\n${summary(reports)}\n\n${coverage(reports)}`)
      results[part] = reports
    }
  } finally {
    lab.close()
  }
}

/** Removes, moves and replaces files of the home while a command runs. */
async function whileInUse(): Promise<void> {
  const lab = MachineLab.open()
  try {
    const report = await sweepTaken(lab, Number(values.every), values)
    const exits = Object.entries(report.exits).map(([status, count]) => `${status}: ${count}`)
    console.log(
      `\ntaken while in use: ${report.cases} cases, exits ${exits.join(', ')}, ${report.violations.length} broken`,
    )
    for (const text of violationsInShort(report.violations)) console.log(text)
    count(report.cases, report.violations)
    results.taken = report
  } finally {
    lab.close()
  }
}

function printReport(report: ScenarioReport): ScenarioReport {
  console.log(summary([report]).split('\n')[1])
  for (const text of violationsInShort(report.violations)) console.log(text)
  count(report.cases, report.violations)
  return report
}

function count(cases: number, violations: unknown[]): void {
  tried.cases += cases
  tried.violations += violations.length
  isBroken ||= violations.length > 0
}

async function onKernel(): Promise<void> {
  const lab = Lab.open()
  try {
    await lab.warm()
    const names = Object.keys(EXPERIMENTS).filter((name) => name === (values.real ?? name))
    const experiments = []
    for (const name of names) {
      const experiment = await (EXPERIMENTS[name] as (typeof EXPERIMENTS)[string])(lab, Number(values.every))
      experiments.push(experiment)
      console.log(describeExperiment(experiment))
      count(experiment.cases, experiment.broken)
    }
    results.real = experiments
  } finally {
    lab.close()
  }
}
