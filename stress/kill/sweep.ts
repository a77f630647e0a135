/**
 * The kill sweep. It kills each command before each system call that changes a file, and checks the contract after each
 * kill. The nested sweep kills recovery in the same way, under the same contract.
 */

import { envOf, type Scenario, wordsOf } from '../scenarios/scenario.js'
import type { Lab } from '../support/lab.js'
import { idsIn } from './left.js'
import { namePoints } from './named.js'
import { PointSweep } from './point-sweep.js'
import { ProcessStage } from './process-stage.js'
import { type KillPoint, recordPoints } from './strace.js'
import type { ScenarioReport, Sweep, SweepOptions, Template } from './swept.js'

export async function sweep(lab: Lab, scenario: Scenario, options: SweepOptions): Promise<ScenarioReport> {
  const start = performance.now()
  const template = await prepareTemplate(lab, scenario)
  const { home } = template.stage
  try {
    const points = await choosePoints(lab, template, options)
    const report = newReport(scenario, points)
    const shared: Sweep = { ...{ lab, template, options, report }, known: idsIn(home), seen: new Set() }
    await inParallel(options.jobs, points, async (point) => {
      if (options.stops !== true || report.violations.length === 0) await new PointSweep(shared, point).run()
    })
    report.seconds = (performance.now() - start) / 1000
    return report
  } finally {
    template.stage.end()
    if (options.keep !== true) lab.removeHome(home)
  }
}

/** Prepares the home that each run starts from. */
export async function prepareTemplate(lab: Lab, scenario: Scenario): Promise<Template> {
  const env = envOf(scenario, lab.root)
  const stage = new ProcessStage(lab, lab.newHome(), env)
  const facts = (await scenario.prepare(stage)) ?? {}
  const command = { argv: wordsOf(scenario.argv, facts), env, syscalls: scenario.kill?.syscalls ?? [] }
  return { scenario, stage, facts, command }
}

function newReport({ name }: Scenario, points: KillPoint[]): ScenarioReport {
  const none = { killed: 0, states: 0, nestedPoints: 0, nestedKilled: 0, nestedStates: 0, seconds: 0 }
  return { scenario: name, points: points.length, ...none, bySyscall: {}, named: {}, violations: [] }
}

async function choosePoints(
  lab: Lab,
  template: Template,
  { every, syscalls, point }: SweepOptions,
): Promise<KillPoint[]> {
  if (point !== undefined) return [{ ...point, what: '' }]
  const all = await pointsOf(lab, template)
  const chosen = all.filter(({ syscall }) => syscalls?.includes(syscall) ?? true)
  return chosen.filter((_, index) => index % every === 0)
}

/** Every kill point of the command, from one run without a kill. */
export async function pointsOf(lab: Lab, template: Template): Promise<KillPoint[]> {
  const { name, exit = 0, kill } = template.scenario
  const { command } = template
  // The first run of a command writes its compile cache. Killed runs do not.
  await onCopy(lab, template, (home) => lab.start(home, command.argv, command).ended)
  const { points, ended } = await onCopy(lab, template, (home) => recordPoints(lab, home, command))
  // Otherwise the sweep would test a command that is refused.
  if (![exit].flat().includes(ended.code as number))
    throw new Error(`${name} exits ${ended.code}, not ${exit}: ${ended.stderr}`)
  const named = namePoints(name, points)
  return kill?.isMomentOnly === true ? named.filter((point) => point.named !== undefined) : named
}

async function onCopy<T>(
  lab: Lab,
  { scenario, stage }: Template,
  work: (home: string) => Promise<T>,
): Promise<T> {
  const home = lab.copyHome(stage.home)
  const release = await scenario.meanwhile?.(stage.at(home))
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
