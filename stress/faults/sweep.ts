/** Every fault at every step of a command. */
import type { Operation } from '../../src/host/disk/io.js'
import type { Image } from '../machine/image.js'
import type { LabEnded, MachineLab } from '../machine/lab.js'
import { type Baseline, Case, effectsOf, goOn, ORDERS, type Order, type Template } from './case.js'
import { type Plan, plansAt } from './plans.js'
import type { FaultScenario } from './scenario.js'
import { viewOf } from './view.js'

export interface SweepOptions {
  /** Every k-th case; 1 for all. */
  every: number
  /** At each step only one fault that comes once, and one that lasts: another at each. */
  isRotated: boolean
  /** Only that step, and that fault: to replay a violation. */
  step?: number | undefined
  fault?: string | undefined
  /** Only steps of that name: log.sync. */
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
  /** By the name of the fault: how many cases, and how often a step met it. */
  byFault: Record<string, { cases: number; injected: number }>
  violations: Violation[]
  seconds: number
}

/** `empty` is the lab before anything was made in it. */
export async function sweep(
  lab: MachineLab,
  empty: Image,
  scenario: FaultScenario,
  options: SweepOptions,
): Promise<ScenarioReport> {
  const start = performance.now()
  lab.restore(empty)
  const prepared = await scenario.prepare(lab)
  const template = { prepared, image: lab.image() }
  const baseline = await withoutFault(lab, template)
  const report: ScenarioReport = {
    scenario: scenario.name,
    steps: baseline.steps.length,
    cases: 0,
    byFault: {},
    violations: [],
    seconds: 0,
  }
  for (const [index, plan] of chosen(baseline.steps, prepared.isKilled === true, options).entries()) {
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
  report.seconds = (performance.now() - start) / 1000
  return report
}

function chosen(
  steps: Operation[],
  isKilled: boolean,
  { every, isRotated, step, fault, point }: SweepOptions,
): Plan[] {
  const all = steps.flatMap((operation, index) => {
    if (operation.point !== (point ?? operation.point)) return []
    const plans = plansAt(index + 1, operation, isKilled)
    return isRotated ? rotated(plans, index) : plans
  })
  if (step !== undefined)
    return all.filter((plan) => plan.step === step && (fault === undefined || plan.name === fault))
  return all.filter((plan, index) => (fault === undefined || plan.name === fault) && index % every === 0)
}

function rotated(plans: Plan[], turn: number): Plan[] {
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
      usual = await lab.run(template.prepared.argv, (operation) => {
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
  return { usual: usual as LabEnded, steps, ends }
}

async function endOf(
  lab: MachineLab,
  { prepared, image }: Template,
  order: Order,
  given: () => Promise<void>,
): Promise<{ view: string[]; status: LabEnded['status']; effects: number }> {
  lab.restore(image)
  prepared.restored?.()
  const release = await prepared.meanwhile?.()
  await given()
  await release?.()
  const { broken, next } = await goOn(lab, prepared, order)
  if (broken.length > 0) throw new Error(`without any fault: ${broken.join('; ')}`)
  return { view: viewOf(lab.home), status: next.status, effects: effectsOf(lab) }
}
