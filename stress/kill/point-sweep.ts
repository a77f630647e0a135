/** One kill point of one scenario: the kill, the state it leaves, and the continuation. */
import { setTimeout as sleep } from 'node:timers/promises'
import { processesWith } from '../../test/support/processes.js'
import { type Crash, goOn, mayGo, ORDERS, type Order, RECOVER, rightAfter } from '../scenarios/contract.js'
import { withOthers } from '../scenarios/ends.js'
import { audit, HomeView } from '../support/home-view.js'
import { type Ended, pathBeside } from '../support/lab.js'
import { type Broken, nothingRewritten } from '../support/promises.js'
import { answerOf } from './process-stage.js'
import type { KillPoint } from './strace.js'
import type { Sweep } from './swept.js'

/** How long to wait for programs that survive the kill, if they end by themselves. */
const PROGRAMS_MS_MAX = 5000

export class PointSweep {
  constructor(
    private readonly shared: Sweep,
    private readonly point: KillPoint,
  ) {}

  async run(): Promise<void> {
    const { ground, template, before, report, options } = this.shared
    const home = await ground.copy(template.stage.home)
    const told = await this.kill(home)
    if (told.signal === 'SIGKILL') this.count()
    this.note(rightAfter(this.crash(told, 1), home))
    this.note(this.isOnlyLonger(before, home))
    if (await this.isNew(home, told, 1)) {
      report.states += 1
      // The first state has no changes yet.
      const { nestedEvery } = options
      if (nestedEvery > 0 && (report.states - 1) % nestedEvery === nestedEvery >> 1)
        await this.sweepRecovery(home, told)
      await this.goOnInEachOrder(home, told)
    }
    await this.remove(home)
  }

  private crash(told: Ended, crashes: number): Crash {
    const { scenario, facts } = this.shared.template
    return { scenario, facts, crashes, told: { ...answerOf(told), lab: 'kill' } }
  }

  private isOnlyLonger(before: HomeView, after: string): Broken {
    const { scenario } = this.shared.template
    return nothingRewritten(before, HomeView.read(after), mayGo(scenario, 'kill'))
  }

  private count(): void {
    const { report } = this.shared
    const { syscall, named } = this.point
    report.killed += 1
    report.bySyscall[syscall] = (report.bySyscall[syscall] ?? 0) + 1
    if (named !== undefined) report.named[named] = (report.named[named] ?? 0) + 1
  }

  private async kill(home: string): Promise<Ended> {
    const { ground, template } = this.shared
    const { scenario, stage, command } = template
    const told = await withOthers(scenario, stage.at(home), () => ground.kill(home, command, this.point))
    if (scenario.programs === 'short') await programsOf(home)
    return told
  }

  /** Whether no other kill left the same state. If programs survive, each kill counts as a state of its own. */
  private async isNew(home: string, told: Ended, kills: number): Promise<boolean> {
    const { ground, template, seen, known, options } = this.shared
    if (template.scenario.programs === 'long' || options.isUnmerged === true) return true
    const digest = `${kills} ${await ground.digest(home, told, known)}`
    const isNew = !seen.has(digest)
    seen.add(digest)
    return isNew
  }

  private async goOnInEachOrder(home: string, told: Ended, nested?: KillPoint): Promise<void> {
    const { ground, template } = this.shared
    for (const order of ORDERS) {
      const copy = await ground.copy(home)
      const crash = this.crash(told, nested === undefined ? 1 : 2)
      this.note(await goOn(template.stage.at(copy), crash, order), { order, nested })
      await this.remove(copy)
    }
  }

  private async sweepRecovery(home: string, told: Ended): Promise<void> {
    const { ground, options, report, template } = this.shared
    const { scenario } = template
    const before = HomeView.read(home)
    const copy = await ground.copy(home)
    const command = { ...template.command, argv: RECOVER, syscalls: [] }
    const { points } = await ground.record(copy, command)
    await this.remove(copy)
    const { nestedPoint, nestedSyscalls } = options
    const chosen = points.filter(({ syscall }) => nestedSyscalls?.includes(syscall) ?? true)
    for (const nested of nestedPoint === undefined ? chosen : [{ ...nestedPoint, what: '' }]) {
      report.nestedPoints += 1
      const again = await ground.copy(home)
      const ended = await ground.kill(again, command, nested)
      if (scenario.programs === 'short') await programsOf(again)
      if (ended.signal === 'SIGKILL') report.nestedKilled += 1
      if (scenario.isDamaged !== true) this.note(audit(again, false), { nested })
      this.note(this.isOnlyLonger(before, again), { nested })
      if (await this.isNew(again, told, 2)) {
        report.nestedStates += 1
        await this.goOnInEachOrder(again, told, nested)
      }
      await this.remove(again)
    }
  }

  private note(broken: Iterable<string>, at: { order?: Order; nested?: KillPoint | undefined } = {}): void {
    const { point } = this
    const { report } = this.shared
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

  private async remove(home: string): Promise<void> {
    if (this.shared.options.keep !== true) await this.shared.ground.remove(home)
  }
}

async function programsOf(home: string): Promise<void> {
  const until = performance.now() + PROGRAMS_MS_MAX
  while (processesWith(`SUBSTRAT_LAB_BESIDE=${pathBeside(home, '')}`).length > 0 && performance.now() < until)
    await sleep(5)
}
