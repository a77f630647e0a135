/**
 * The kill sweep: each command is killed before each of its system calls that changes a file, and after each kill the
 * contract has to hold. Nested: recovery is itself killed before each of its calls, and has to hold the same contract.
 */
import { rmSync } from 'node:fs'
import type { Ended, Lab } from '../support/lab.js'
import { goOn, nothingRewritten, ORDERS, type Order, rightAfter } from './contract.js'
import { audit, HomeView } from './home-view.js'
import type { Scenario } from './scenario.js'
import { type KillPoint, recordPoints, runKilled } from './strace.js'

export interface SweepOptions {
  /** Every k-th point; 1 for all. */
  every: number
  /** Only calls of these kinds. */
  syscalls?: string[] | undefined
  /** Recovery is swept after every k-th of those kills; 0 for never. */
  nestedEvery: number
  /** Recovery is killed only before calls of these kinds. */
  nestedSyscalls?: string[] | undefined
  /** How many runs at once. */
  jobs: number
  /** Only this one, to replay a violation. */
  point?: Pick<KillPoint, 'syscall' | 'n'> | undefined
  nestedPoint?: Pick<KillPoint, 'syscall' | 'n'> | undefined
  /** Leaves the homes in the lab. */
  keep?: boolean
}

export interface Violation {
  scenario: string
  point: KillPoint
  /** Where recovery was killed after that. */
  nested: KillPoint | undefined
  order: Order | undefined
  broken: string
}

export interface ScenarioReport {
  scenario: string
  points: number
  /** Runs that a kill ended; the others made fewer calls than the recorded one. */
  killed: number
  nestedKilled: number
  bySyscall: Record<string, number>
  violations: Violation[]
  seconds: number
}

export async function sweep(lab: Lab, scenario: Scenario, options: SweepOptions): Promise<ScenarioReport> {
  const start = performance.now()
  const template = lab.newHome()
  await scenario.prepare(lab, template)
  const points = await choosePoints(lab, scenario, template, options)
  const report: ScenarioReport = {
    scenario: scenario.name,
    points: points.length,
    killed: 0,
    nestedKilled: 0,
    bySyscall: {},
    violations: [],
    seconds: 0,
  }
  await inParallel(options.jobs, points, (point, index) => {
    const isNested = options.nestedEvery > 0 && index % options.nestedEvery === 0
    return new PointSweep(lab, scenario, template, point, report, options).run(isNested)
  })
  report.seconds = (performance.now() - start) / 1000
  return report
}

async function choosePoints(
  lab: Lab,
  scenario: Scenario,
  template: string,
  { every, syscalls, point }: SweepOptions,
): Promise<KillPoint[]> {
  if (point !== undefined) return [{ ...point, what: '' }]
  const home = lab.copyHome(template)
  const release = await scenario.meanwhile?.(lab, home)
  const { points } = await recordPoints(lab, home, scenario.argv)
  await release?.()
  rmSync(home, { recursive: true })
  const chosen = points.filter(({ syscall }) => syscalls?.includes(syscall) ?? true)
  return chosen.filter((_, index) => index % every === 0)
}

/** One kill point of one scenario. */
class PointSweep {
  constructor(
    private readonly lab: Lab,
    private readonly scenario: Scenario,
    private readonly template: string,
    private readonly point: KillPoint,
    private readonly report: ScenarioReport,
    private readonly options: SweepOptions,
  ) {}

  async run(isNested: boolean): Promise<void> {
    const { lab, scenario, report, point } = this
    const home = lab.copyHome(this.template)
    const told = await this.kill(home)
    if (told.signal === 'SIGKILL') {
      report.killed += 1
      report.bySyscall[point.syscall] = (report.bySyscall[point.syscall] ?? 0) + 1
    }
    this.note(rightAfter(scenario, home, told, HomeView.read(this.template)))
    if (isNested) await this.sweepRecovery(home, told)
    await this.goOnInEachOrder(home, told)
    this.remove(home)
  }

  private async kill(home: string): Promise<Ended> {
    const { lab, scenario } = this
    const release = await scenario.meanwhile?.(lab, home)
    const told = await runKilled(lab, home, scenario.argv, this.point)
    await release?.()
    return told
  }

  private async goOnInEachOrder(home: string, told: Ended, nested?: KillPoint): Promise<void> {
    for (const order of ORDERS) {
      const copy = this.lab.copyHome(home)
      const kills = nested === undefined ? 1 : 2
      this.note(await goOn(this.lab, this.scenario, copy, told, order, kills), { order, nested })
      this.remove(copy)
    }
  }

  private async sweepRecovery(home: string, told: Ended): Promise<void> {
    const { lab, options } = this
    const copy = lab.copyHome(home)
    const { points } = await recordPoints(lab, copy, RECOVER)
    this.remove(copy)
    const { nestedPoint, nestedSyscalls } = options
    const chosen = points.filter(({ syscall }) => nestedSyscalls?.includes(syscall) ?? true)
    for (const nested of nestedPoint === undefined ? chosen : [{ ...nestedPoint, what: '' }]) {
      const again = lab.copyHome(home)
      const ended = await runKilled(lab, again, RECOVER, nested)
      if (ended.signal === 'SIGKILL') this.report.nestedKilled += 1
      this.note(audit(again, false), { nested })
      this.note(nothingRewritten(HomeView.read(home), HomeView.read(again)), { nested })
      await this.goOnInEachOrder(again, told, nested)
      this.remove(again)
    }
  }

  private note(broken: Iterable<string>, at: { order?: Order; nested?: KillPoint | undefined } = {}): void {
    const { point, report } = this
    for (const sentence of broken) {
      report.violations.push({
        scenario: report.scenario,
        point,
        nested: at.nested,
        order: at.order,
        broken: sentence,
      })
    }
  }

  private remove(home: string): void {
    if (this.options.keep !== true) rmSync(home, { recursive: true, force: true })
  }
}

const RECOVER = ['recover', '--all']

async function inParallel<T>(
  jobs: number,
  items: T[],
  work: (item: T, index: number) => Promise<void>,
): Promise<void> {
  const entries = items.entries()
  const worker = async (): Promise<void> => {
    for (const [index, item] of entries) await work(item, index)
  }
  await Promise.all(Array.from({ length: jobs }, worker))
}
