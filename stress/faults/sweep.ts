/** Injects every fault at every step of a command. */
import type { Operation } from '../../src/host/disk/operation.js'
import type { Image } from '../machine/image.js'
import type { LabEnded, MachineLab } from '../machine/lab.js'
import { MachineStage } from '../machine/stage.js'
import { ORDERS, type Order } from '../scenarios/contract.js'
import { endingOnFailure, withOthers } from '../scenarios/ends.js'
import { effectsOf } from '../scenarios/promises.js'
import { envOf, type Scenario, wordsOf } from '../scenarios/scenario.js'
import type { Answer } from '../scenarios/stage.js'
import { type Baseline, Case, goOn, putBack, type Template } from './case.js'
import { type Plan, plansAt } from './plans.js'
import { viewOf } from './view.js'

export interface SweepOptions {
  /** Tries every k-th case; 1 for all. */
  every: number
  /** Tries two faults per step: one that comes once and one that lasts. The choice rotates from step to step. */
  isRotated: boolean
  /** One step and one fault, to replay a violation. */
  step?: number | undefined
  fault?: string | undefined
  /** Only steps of that name, for example log.sync. */
  point?: string | undefined
}

export interface Violation {
  scenario: string
  step: number
  fault: string
  point: string
  order: Order
  broken: string
}

export interface ScenarioReport {
  scenario: string
  steps: number
  cases: number
  /** For each fault, the number of cases and how often a step met it. */
  byFault: Record<string, { cases: number; injected: number }>
  violations: Violation[]
  seconds: number
}

/** `empty` is the lab before it had any files. */
export async function sweep(
  lab: MachineLab,
  empty: Image,
  scenario: Scenario,
  options: SweepOptions,
): Promise<ScenarioReport> {
  const start = performance.now()
  const template = await prepareTemplate(lab, empty, scenario)
  try {
    return { ...(await sweepScenario(lab, template, options)), seconds: (performance.now() - start) / 1000 }
  } finally {
    template.stage.end()
  }
}

/** Prepares the home that each case starts from. */
export async function prepareTemplate(lab: MachineLab, empty: Image, scenario: Scenario): Promise<Template> {
  lab.restore(empty)
  const stage = new MachineStage('faults', lab, envOf(scenario, lab.root))
  const facts = await endingOnFailure(stage, async () => (await scenario.prepare(stage)) ?? {})
  scenario.restore?.(lab.home, facts)
  const doctor = scenario.isDamaged === true ? await lab.run(['doctor', '--all']) : undefined
  const [argv, next] = [scenario.argv, scenario.next.argv].map((words) => wordsOf(words, facts)) as [
    string[],
    string[],
  ]
  const damagedStatus = doctor?.status as number | undefined
  return { scenario, stage, facts, argv, next, image: lab.image(), damagedStatus }
}

async function sweepScenario(
  lab: MachineLab,
  template: Template,
  options: SweepOptions,
): Promise<ScenarioReport> {
  const { scenario } = template
  const baseline = await withoutFault(lab, template)
  const report: ScenarioReport = {
    scenario: scenario.name,
    steps: baseline.steps.length,
    cases: 0,
    byFault: {},
    violations: [],
    seconds: 0,
  }
  for (const [index, plan] of choosePlans(
    baseline.steps,
    scenario.faults?.isKilled === true,
    options,
  ).entries()) {
    const order = ORDERS[index % ORDERS.length] as Order
    const run = new Case(lab, template, baseline, plan)
    await run.run(order)
    report.cases += 1
    const count = report.byFault[plan.name] ?? { cases: 0, injected: 0 }
    report.byFault[plan.name] = { cases: count.cases + 1, injected: count.injected + run.injected }
    const { point } = baseline.steps[plan.step - 1] as Operation
    for (const broken of run.broken)
      report.violations.push({
        scenario: scenario.name,
        step: plan.step,
        fault: plan.name,
        point,
        order,
        broken,
      })
  }
  return report
}

function choosePlans(
  steps: Operation[],
  isKilled: boolean,
  { every, isRotated, step, fault, point }: SweepOptions,
): Plan[] {
  const all = steps.flatMap((operation, index) => {
    if (operation.point !== (point ?? operation.point)) return []
    const plans = plansAt(index + 1, operation, isKilled)
    return isRotated ? rotatePlans(plans, index) : plans
  })
  if (step !== undefined)
    return all.filter((plan) => plan.step === step && (fault === undefined || plan.name === fault))
  return all.filter((plan, index) => (fault === undefined || plan.name === fault) && index % every === 0)
}

function rotatePlans(plans: Plan[], turn: number): Plan[] {
  const [once, lasting] = [true, false].map((isOnce) =>
    plans.filter(({ condition }) => (condition === undefined) === isOnce),
  )
  return [once, lasting].flatMap((some = []) => some.slice(turn % some.length).slice(0, 1))
}

async function withoutFault(lab: MachineLab, template: Template): Promise<Baseline> {
  const steps: Operation[] = []
  const ends = {} as Baseline['ends']
  let usual: LabEnded | undefined
  for (const order of ORDERS) {
    const without = await endOf(lab, template, order, async () => undefined)
    const given = await endOf(lab, template, order, async () => {
      steps.length = 0
      usual = await lab.run(template.argv, (operation) => {
        steps.push({ ...operation })
        return undefined
      })
    })
    ends[order] = {
      without: without.view,
      with: given.view,
      next: [given.status, without.status],
      effects: Math.max(given.effects, without.effects),
    }
  }
  const { name, exit = 0 } = template.scenario
  // Otherwise the sweep would test a command that is refused.
  if (![exit].flat().includes(usual?.status as number))
    throw new Error(`${name} exits ${usual?.status}, not ${exit}: ${usual?.stderr}`)
  return { usual: usual as LabEnded, steps, ends }
}

async function endOf(
  lab: MachineLab,
  template: Template,
  order: Order,
  given: () => Promise<void>,
): Promise<{ view: string[]; status: Answer['status']; effects: number }> {
  putBack(lab, template)
  await withOthers(template.scenario, template.stage, given)
  const { broken, next } = await goOn(template, order)
  if (broken.length > 0) throw new Error(`without any fault: ${broken.join('; ')}`)
  return { view: viewOf(lab.home), status: next.status, effects: effectsOf(lab.home).length }
}
