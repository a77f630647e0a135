/**
 * The kill sweep. It kills each command before each system call that changes a file, and checks the contract after each
 * kill. The nested sweep kills recovery in the same way, under the same contract.
 */

import { endingOnFailure, withOthers } from '../scenarios/ends.js'
import { envOf, type Scenario, wordsOf } from '../scenarios/scenario.js'
import { HomeView } from '../support/home-view.js'
import type { Ground } from './ground.js'
import { PointSweep } from './point-sweep.js'
import { ProcessStage } from './process-stage.js'
import type { KillPoint } from './strace.js'
import type { ScenarioReport, Sweep, SweepOptions, Template } from './swept.js'

export async function sweep(
  ground: Ground,
  scenario: Scenario,
  options: SweepOptions,
): Promise<ScenarioReport> {
  const start = performance.now()
  const template = await prepareTemplate(ground, scenario)
  const { home } = template.stage
  try {
    const points = await choosePoints(ground, template, options)
    const report = newReport(scenario, points)
    const [before, known] = [HomeView.read(home), await ground.idsIn(home)]
    const shared: Sweep = { ...{ ground, template, before, options, report }, known, seen: new Set() }
    await inParallel(options.jobs, points, async (point) => {
      if (options.stops !== true || report.violations.length === 0) await new PointSweep(shared, point).run()
    })
    report.seconds = (performance.now() - start) / 1000
    return report
  } finally {
    template.stage.end()
    if (options.keep !== true) await ground.remove(home)
  }
}

/** Prepares the home that each run starts from. */
export async function prepareTemplate(ground: Ground, scenario: Scenario): Promise<Template> {
  const env = envOf(scenario, ground.lab.root)
  const stage = new ProcessStage(ground, await ground.newHome(), env)
  const facts = await endingOnFailure(stage, async () => (await scenario.prepare(stage)) ?? {})
  const command = { argv: wordsOf(scenario.argv, facts), env, syscalls: scenario.kill?.syscalls ?? [] }
  return { scenario, stage, facts, command }
}

function newReport({ name }: Scenario, points: KillPoint[]): ScenarioReport {
  const none = { killed: 0, states: 0, nestedPoints: 0, nestedKilled: 0, nestedStates: 0, seconds: 0 }
  return { scenario: name, points: points.length, ...none, bySyscall: {}, named: {}, violations: [] }
}

async function choosePoints(
  ground: Ground,
  template: Template,
  { every, syscalls, point }: SweepOptions,
): Promise<KillPoint[]> {
  if (point !== undefined) return [{ ...point, what: '' }]
  const all = await pointsOf(ground, template)
  const chosen = all.filter(({ syscall }) => syscalls?.includes(syscall) ?? true)
  return chosen.filter((_, index) => index % every === 0)
}

/** Every kill point of the command, from one run without a kill. */
export async function pointsOf(ground: Ground, template: Template): Promise<KillPoint[]> {
  const { name, exit = 0 } = template.scenario
  const { command } = template
  // The first run of a command writes its compile cache. Killed runs do not.
  await onCopy(ground, template, (home) => ground.lab.start(home, command.argv, command).ended)
  const { points, ended } = await onCopy(ground, template, (home) => ground.record(home, command))
  // Otherwise the sweep would test a command that is refused.
  if (![exit].flat().includes(ended.code as number))
    throw new Error(`${name} exits ${ended.code}, not ${exit}: ${ended.stderr}`)
  return ground.pointsOf(template.scenario, points)
}

async function onCopy<T>(
  ground: Ground,
  { scenario, stage }: Template,
  work: (home: string) => Promise<T>,
): Promise<T> {
  const home = await ground.copy(stage.home)
  const result = await withOthers(scenario, stage.at(home), () => work(home))
  await ground.remove(home)
  return result
}

async function inParallel<T>(jobs: number, items: T[], work: (item: T) => Promise<void>): Promise<void> {
  const entries = items.values()
  const worker = async (): Promise<void> => {
    for (const item of entries) await work(item)
  }
  await Promise.all(Array.from({ length: jobs }, worker))
}
