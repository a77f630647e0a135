/**
 * Injects one fault at one step of one command, and checks the result.
 *
 * The oracle is a pair of fault-free histories: one without the command and one with it. After the fault is gone, and
 * the next command and recovery have run, the home must equal one of the two. If the command reported success, it must
 * equal the second.
 */
import type { Operation } from '../../src/host/disk/operation.js'
import type { Image } from '../machine/image.js'
import type { LabEnded, MachineLab } from '../machine/lab.js'
import type { Fault, OnStep } from '../machine/process.js'
import type { MachineStage } from '../machine/stage.js'
import { ORDERS, type Order, RECOVER, takeUp } from '../scenarios/contract.js'
import { withOthers } from '../scenarios/ends.js'
import { effectsOf } from '../scenarios/promises.js'
import { type Scenario, wordsOf } from '../scenarios/scenario.js'
import type { Answer, Facts } from '../scenarios/stage.js'
import { audit, HomeView } from '../support/home-view.js'
import { interruptedOnce, nothingRewritten } from '../support/promises.js'
import { type Condition, changes } from './errors.js'
import { FAILING_CLOSES, isOurs, type Plan } from './plans.js'
import { isSync, SyncedLogs } from './synced.js'
import { type Told, wrongInEnd } from './told.js'
import { viewOf } from './view.js'

/** A scenario with its prepared home. */
export interface Template {
  scenario: Scenario
  stage: MachineStage
  facts: Facts
  argv: string[]
  next: string[]
  image: Image
  /** The exit status of doctor if the home was damaged before the fault. */
  damagedStatus: number | undefined
}

/** The run without a fault. */
export interface Baseline {
  usual: LabEnded
  /** The disk steps of the command. */
  steps: Operation[]
  /**
   * For each order of recovery: the home at the end without and with the command, and the exit status of the next
   * command.
   */
  ends: Record<Order, End>
}

interface End {
  without: string[]
  with: string[]
  next: Answer['status'][]
  /** How often its tools may run. Fewer runs are allowed, since a tool of unknown outcome does not run again. */
  effects: number
}

const INTERRUPTED = 6
const CORRUPT = 10

export class Case {
  readonly broken: string[] = []
  /** How often the fault was injected. */
  injected = 0

  constructor(
    private readonly lab: MachineLab,
    private readonly template: Template,
    private readonly baseline: Baseline,
    private readonly plan: Plan,
  ) {}

  async run(order: Order): Promise<void> {
    const { lab, template, plan, baseline } = this
    const { isDamaged = false } = template.scenario
    putBack(lab, template)
    const before = HomeView.read(lab.home)
    const told = await this.faulty()
    const isYetDamaged = told.status === template.damagedStatus
    if (!isYetDamaged) this.broken.push(...wrongInEnd(told, baseline.usual, template.argv))
    // doctor reports harmless leftovers without failing.
    const isSaid = told.status === 0 && template.damagedStatus !== 0
    if (!isDamaged || isSaid) this.broken.push(...audit(lab.home, false))
    this.broken.push(...nothingRewritten(before, HomeView.read(lab.home), 'any'), ...this.always())
    if (plan.condition !== undefined) await this.whileItLasts(plan.condition, told)
    const left = HomeView.read(lab.home)
    const { broken, next } = await goOn(template, order)
    this.broken.push(...broken, ...nothingRewritten(left, HomeView.read(lab.home), 'any'), ...this.always())
    const expected = baseline.ends[order]
    // Recovery leaves some interrupted turns to the operator.
    const isRecovery = template.next[0] === 'recover'
    const ends = [...new Set([...expected.next, ...(isRecovery ? [INTERRUPTED] : [])])]
    if (!ends.includes(next.status))
      this.broken.push(
        `the next command exits ${ends.join(' or ')}, not ${next.status}: ${next.stderr.trim()}`,
      )
    this.broken.push(...wrongAtEnd(this.view(), expected, this.isDone(told), template.scenario))
    const effects = effectsOf(lab.home).length
    if (effects > expected.effects)
      this.broken.push(`a tool has its effect ${expected.effects} times at most, not ${effects} times`)
  }

  private async faulty(): Promise<Told> {
    const { lab, template, plan } = this
    const hit: Operation[] = []
    const synced = new SyncedLogs()
    let count = 0
    const faultAt = (operation: Operation): Fault => {
      count += 1
      const fault = count === plan.step ? plan.first(operation) : this.later(count, operation)
      if (fault !== undefined && 'closesFail' in fault) return fault
      if (!isOurs(operation)) return undefined
      if (fault !== undefined) hit.push(operation)
      else synced.note(operation)
      return fault
    }
    const { scenario, stage } = template
    const ended = await withOthers(scenario, stage, () => lab.run(template.argv, faultAt))
    if (scenario.meanwhile === undefined && hit.some(isSync)) synced.loseTheRest(template.image, lab)
    this.injected = plan.name === FAILING_CLOSES ? 1 : hit.length
    return { ...ended, hit }
  }

  private always(): Iterable<string> {
    const { scenario, facts } = this.template
    return scenario.always?.(this.lab.home, facts) ?? []
  }

  private view(): string[] {
    const { later } = this.template.scenario.faults ?? {}
    return viewOf(this.lab.home).filter((line) => later?.test(line) !== true)
  }

  private isDone({ status, stdout, isDone }: Told): boolean {
    const { usual } = this.baseline
    // The concurrent command may have ended before this one, which changes the output.
    const isSaid = this.template.scenario.meanwhile === undefined || stdout === usual.stdout
    return (status === usual.status && isSaid) || isDone === true
  }

  private later(count: number, operation: Operation): ReturnType<OnStep> {
    return count > this.plan.step ? this.plan.condition?.fault(operation) : undefined
  }

  /**
   * While the condition lasts, no command hangs; reading commands still work and write nothing; writing commands report
   * the error.
   */
  private async whileItLasts(condition: Condition, told: Told): Promise<void> {
    const { lab, template, baseline } = this
    const { isDamaged = false } = template.scenario
    const usual = isDamaged ? CORRUPT : 0
    for (const argv of readingIn(lab.home)) {
      const hit: Operation[] = []
      const ended = await lab.run(argv, (operation) => {
        if (changes(operation))
          this.broken.push(`${argv[0]} only reads, but took the step ${operation.point}`)
        const fault = isOurs(operation) ? condition.fault(operation) : undefined
        if (fault !== undefined) hit.push(operation)
        return fault
      })
      const isRead = ended.status === 0 || (isDamaged && ended.status === CORRUPT)
      if (hit.length === 0 && !isRead)
        this.broken.push(`${argv.join(' ')} still reads, and does not exit ${ended.status}: ${ended.stderr}`)
      this.broken.push(...wrongInEnd({ ...ended, hit }, { status: usual, stdout: '' }, argv))
    }
    for (const argv of [template.next, RECOVER]) {
      const hit: Operation[] = []
      const ended = await lab.run(argv, (operation) => {
        const fault = isOurs(operation) ? condition.fault(operation) : undefined
        if (fault !== undefined) hit.push(operation)
        return fault
      })
      // If the next command is the same command, its success counts as well.
      if (argv.join() === template.argv.join() && ended.status === baseline.usual.status) told.isDone = true
      const ofNext = baseline.ends[ORDERS[0]].next[0] as number
      const ofRecover = isDamaged ? CORRUPT : INTERRUPTED
      const ofDamage = template.damagedStatus ?? ofNext
      const usual = argv === RECOVER ? ofRecover : ofDamage
      this.broken.push(...wrongInEnd({ ...ended, hit }, { status: usual, stdout: '' }, argv))
    }
    if (!isDamaged) this.broken.push(...audit(lab.home, false))
  }
}

/** Restores the files of the home, and adds what the image cannot hold. */
export function putBack(lab: MachineLab, { scenario, facts, image }: Template): void {
  lab.restore(image)
  scenario.restore?.(lab.home, facts)
}

/** The reading commands; those of one agent if there is one. */
function readingIn(home: string): string[][] {
  const id = HomeView.read(home).agents[0]?.state.id
  const ofAgent =
    id === undefined
      ? []
      : [
          ['show', id],
          ['log', id],
        ]
  return [['list'], ['tree'], ['inbox'], ...ofAgent]
}

/** Runs recovery in one order, then the operator's commands. The baseline says how these commands end. */
export async function goOn(
  { scenario, stage, facts }: Template,
  order: Order,
): Promise<{ broken: string[]; next: Answer }> {
  const unjudged: Scenario = { ...scenario, next: { ...scenario.next, check: () => [] } }
  const told = { ...{ lab: 'faults' as const, status: undefined }, stdout: '', stderr: '' }
  const { broken, next } = await takeUp(stage, { scenario: unjudged, facts, told, crashes: 1 }, order, RESTS)
  for (const { argv } of scenario.afterwards ?? []) await stage.run(wordsOf(argv, facts, told))
  broken.push(...audit(stage.home, true), ...interruptedOnce(HomeView.read(stage.home)))
  return { broken, next }
}

/** Exit statuses of recovery that leaves a turn to the operator or to a time. */
const RESTS = [5, INTERRUPTED, 7]

function* wrongAtEnd(end: string[], expected: End, isDone: boolean, { faults }: Scenario): Iterable<string> {
  const known = new Set([...expected.with, ...expected.without])
  if (faults?.isForEach === true && !isDone && end.every((line) => known.has(line))) return

  const isWith = isSame(end, expected.with)
  if (isWith || (!isDone && isSame(end, expected.without))) return
  const differs = (from: string[]): string =>
    [
      ...from.filter((line) => !end.includes(line)).map((line) => `- ${line}`),
      ...end.filter((line) => !from.includes(line)).map((line) => `+ ${line}`),
    ].join('\n      ')
  yield isDone
    ? `acknowledged data is in the home\n      ${differs(expected.with)}`
    : `the command took effect as a whole or not at all\n      ${differs(expected.with)}\n    or\n      ${differs(expected.without)}`
}

function isSame(a: string[], b: string[]): boolean {
  return a.length === b.length && a.every((line, index) => line === b[index])
}
