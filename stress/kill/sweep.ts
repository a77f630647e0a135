/**
 * The kill sweep: each command is killed before each of its system calls that changes a file, and after each kill the
 * contract has to hold. Nested: recovery is itself killed before each of its calls, and has to hold the same contract.
 */

import { envOf, type Scenario, wordsOf } from '../scenarios/scenario.js'
import type { Lab } from '../support/lab.js'
import { idsIn } from './left.js'
import { namePoints } from './named.js'
import { PointSweep } from './point-sweep.js'
import { type KillPoint, recordPoints } from './strace.js'
import type { ScenarioReport, Sweep, SweepOptions } from './swept.js'

export async function sweep(lab: Lab, scenario: Scenario, options: SweepOptions): Promise<ScenarioReport> {
  const start = performance.now()
  const template = lab.newHome()
  const end = await scenario.prepare(lab, template)
  try {
    const points = await choosePoints(lab, scenario, template, options)
    const report = newReport(scenario, points)
    const shared: Sweep = {
      ...{ lab, scenario, template, options, report },
      known: idsIn(template),
      seen: new Set(),
    }
    await inParallel(options.jobs, points, async (point) => {
      if (options.stops === true && report.violations.length > 0) return
      await new PointSweep(shared, point).run()
    })
    report.seconds = (performance.now() - start) / 1000
    return report
  } finally {
    end?.()
    if (options.keep !== true) lab.removeHome(template)
  }
}

function newReport({ name }: Scenario, points: KillPoint[]): ScenarioReport {
  const none = { killed: 0, states: 0, nestedPoints: 0, nestedKilled: 0, nestedStates: 0, seconds: 0 }
  return { scenario: name, points: points.length, ...none, bySyscall: {}, named: {}, violations: [] }
}

async function choosePoints(
  lab: Lab,
  scenario: Scenario,
  template: string,
  { every, syscalls, point }: SweepOptions,
): Promise<KillPoint[]> {
  if (point !== undefined) return [{ ...point, what: '' }]
  const all = await pointsOf(lab, scenario, template)
  const chosen = all.filter(({ syscall }) => syscalls?.includes(syscall) ?? true)
  return chosen.filter((_, index) => index % every === 0)
}

/** Every kill point of the command, as one unharmed run has them. */
export async function pointsOf(lab: Lab, scenario: Scenario, template: string): Promise<KillPoint[]> {
  const { syscalls = [], argv, exit = 0 } = scenario
  const env = envOf(scenario, lab)
  // The first run of a command writes its compiled code to the cache, and those that are killed do not.
  await onCopy(lab, scenario, template, (home) => lab.start(home, wordsOf(argv, home), { env }).ended)
  const { points, ended } = await onCopy(lab, scenario, template, (home) =>
    recordPoints(lab, home, { argv: wordsOf(argv, home), env, syscalls }),
  )
  // Else all that is killed is a refusal.
  if (![exit].flat().includes(ended.code as number))
    throw new Error(`${scenario.name} exits ${ended.code}, not ${exit}: ${ended.stderr}`)
  return scenario.points?.(points) ?? namePoints(scenario.name, points)
}

async function onCopy<T>(
  lab: Lab,
  scenario: Scenario,
  template: string,
  work: (home: string) => Promise<T>,
): Promise<T> {
  const home = lab.copyHome(template)
  const release = await scenario.meanwhile?.(lab, home)
  const result = await work(home)
  await release?.()
  lab.removeHome(home)
  return result
}

async function inParallel<T>(jobs: number, items: T[], work: (item: T) => Promise<void>): Promise<void> {
  const entries = items.values()
  const worker = async (): Promise<void> => {
    for (const item of entries) await work(item)
  }
  await Promise.all(Array.from({ length: jobs }, worker))
}
