/**
 * One fault at one step of one command, and all that has to be right afterwards.
 *
 * The oracle: two histories without a fault, one where the command was never given and one where it was. Whatever the
 * fault, once it is gone and the next command and recovery have run the home is as one of the two; and as the second, where
 * the command has said that it is done.
 */
import { existsSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import type { Operation } from '../../src/host/disk/io.js'
import type { Image } from '../machine/image.js'
import type { LabEnded, MachineLab } from '../machine/lab.js'
import type { OnStep } from '../machine/process.js'
import { audit, HomeView } from '../support/home-view.js'
import { interruptedOnce, nothingRewritten } from '../support/promises.js'
import { type Condition, changes } from './errors.js'
import { isOurs, type Plan } from './plans.js'
import { EFFECTS, type Prepared } from './scenario.js'
import { isSync, SyncedLogs } from './synced.js'
import { type Told, wrongInEnd } from './told.js'
import { viewOf } from './view.js'

/** Both must come out right: the next command finds what the fault left, or what recovery made of it. */
export const ORDERS = ['next command, then recover', 'recover, then next command'] as const
export type Order = (typeof ORDERS)[number]

export interface Template {
  prepared: Prepared
  image: Image
}

/** How it goes without a fault. */
export interface Baseline {
  usual: LabEnded
  /** The steps of the command. */
  steps: Operation[]
  /** Of each order: the home at the end, where the command was not given and where it was; and how the next one ended. */
  ends: Record<Order, End>
}

interface End {
  without: string[]
  with: string[]
  next: LabEnded['status'][]
  /** How often its tools ran; fewer where nobody knows of one how far it came. */
  effects: number
}

const RECOVER = ['recover', '--all']
const READING = [['list'], ['tree'], ['inbox'], ['show', 'a'], ['log', 'a']]
const INTERRUPTED = 6
const CORRUPT = 10

export class Case {
  readonly broken: string[] = []
  /** How often the fault was there. */
  injected = 0

  constructor(
    private readonly lab: MachineLab,
    private readonly template: Template,
    private readonly baseline: Baseline,
    private readonly plan: Plan,
  ) {}

  async run(order: Order): Promise<void> {
    const { lab, template, plan, baseline } = this
    const { isDamaged = false, kept } = template.prepared
    lab.restore(template.image)
    template.prepared.restored?.()
    const before = HomeView.read(lab.home)
    const told = await this.faulty()
    const isYetDamaged = told.status === template.prepared.damagedStatus
    if (!isYetDamaged) this.broken.push(...wrongInEnd(told, baseline.usual, template.prepared.argv))
    // Of what is harmless doctor only tells.
    const isSaid = told.status === 0 && template.prepared.damagedStatus !== 0
    if (!isDamaged || isSaid) this.broken.push(...audit(lab.home, false))
    this.broken.push(...nothingRewritten(before, HomeView.read(lab.home), 'any'), ...(kept?.() ?? []))
    if (plan.condition !== undefined) await this.whileItLasts(plan.condition, told)
    const left = HomeView.read(lab.home)
    const { broken, next } = await goOn(lab, template.prepared, order)
    this.broken.push(
      ...broken,
      ...nothingRewritten(left, HomeView.read(lab.home), 'any'),
      ...(kept?.() ?? []),
    )
    const expected = baseline.ends[order]
    // Recovery leaves some of what a fault has cut short to a person.
    const isRecovery = template.prepared.next[0] === 'recover'
    const ends = [...new Set([...expected.next, ...(isRecovery ? [INTERRUPTED] : [])])]
    if (!ends.includes(next.status))
      this.broken.push(
        `the next command exits ${ends.join(' or ')}, not ${next.status}: ${next.stderr.trim()}`,
      )
    this.broken.push(...wrongAtEnd(this.view(), expected, this.isDone(told), template.prepared))
    const effects = effectsOf(lab)
    if (effects > expected.effects)
      this.broken.push(`a tool has its effect ${expected.effects} times at most, not ${effects} times`)
  }

  private async faulty(): Promise<Told> {
    const { lab, template, plan } = this
    const release = await template.prepared.meanwhile?.()
    const hit: Operation[] = []
    const synced = new SyncedLogs()
    let count = 0
    const ended = await lab.run(template.prepared.argv, (operation) => {
      count += 1
      if (!isOurs(operation)) return undefined
      const fault = count === plan.step ? plan.first(operation) : this.later(count, operation)
      if (fault !== undefined) hit.push(operation)
      else synced.note(operation)
      return fault
    })
    await release?.()
    if (release === undefined && hit.some(isSync)) synced.loseTheRest(template.image, lab)
    this.injected = hit.length
    return { ...ended, hit }
  }

  private view(): string[] {
    const { later } = this.template.prepared
    return viewOf(this.lab.home).filter((line) => later?.test(line) !== true)
  }

  private isDone({ status, stdout, isDone }: Told): boolean {
    const { usual } = this.baseline
    // What goes on meanwhile may have ended before, and then it says so.
    const isSaid = this.template.prepared.meanwhile === undefined || stdout === usual.stdout
    return (status === usual.status && isSaid) || isDone === true
  }

  private later(count: number, operation: Operation): ReturnType<OnStep> {
    return count > this.plan.step ? this.plan.condition?.fault(operation) : undefined
  }

  /** Nothing hangs, what reads still reads and writes nothing, and what writes says what is wrong. */
  private async whileItLasts(condition: Condition, told: Told): Promise<void> {
    const { lab, template, baseline } = this
    const { isDamaged = false } = template.prepared
    const usual = isDamaged ? CORRUPT : 0
    for (const argv of READING) {
      const hit: Operation[] = []
      const ended = await lab.run(argv, (operation) => {
        if (changes(operation)) this.broken.push(`${argv[0]} changes nothing, but ${operation.point}`)
        const fault = isOurs(operation) ? condition.fault(operation) : undefined
        if (fault !== undefined) hit.push(operation)
        return fault
      })
      const isThere = HomeView.read(lab.home).agent('a') !== undefined || argv.length === 1
      const isRead = ended.status === 0 || (isDamaged && ended.status === CORRUPT)
      if (isThere && hit.length === 0 && !isRead)
        this.broken.push(`${argv.join(' ')} still reads, and does not exit ${ended.status}: ${ended.stderr}`)
      if (isThere) this.broken.push(...wrongInEnd({ ...ended, hit }, { status: usual, stdout: '' }, argv))
    }
    for (const argv of [template.prepared.next, RECOVER]) {
      const hit: Operation[] = []
      const ended = await lab.run(argv, (operation) => {
        const fault = isOurs(operation) ? condition.fault(operation) : undefined
        if (fault !== undefined) hit.push(operation)
        return fault
      })
      // Where the next command is the same, it may have said that it is done.
      if (argv.join() === template.prepared.argv.join() && ended.status === baseline.usual.status)
        told.isDone = true
      const ofNext = baseline.ends[ORDERS[0]].next[0] as number
      const ofRecover = isDamaged ? CORRUPT : INTERRUPTED
      const ofDamage = template.prepared.damagedStatus ?? ofNext
      const usual = argv === RECOVER ? ofRecover : ofDamage
      this.broken.push(...wrongInEnd({ ...ended, hit }, { status: usual, stdout: '' }, argv))
    }
    if (!isDamaged) this.broken.push(...audit(lab.home, false))
  }
}

/** The home goes on by itself, in one order, until all is done. */
export async function goOn(
  lab: MachineLab,
  { next, isDamaged = false }: Prepared,
  order: Order,
): Promise<{ broken: string[]; next: LabEnded }> {
  const broken: string[] = []
  let ended: LabEnded | undefined
  const act = async (): Promise<void> => {
    ended = await lab.run(next)
    broken.push(...audit(lab.home, false))
  }
  const isNextFirst = order === 'next command, then recover'
  if (isNextFirst) await act()
  broken.push(...(await recover(lab, isDamaged && !isNextFirst)))
  if (!isNextFirst) await act()
  if (isDamaged && !isNextFirst) broken.push(...(await recover(lab, false)))
  broken.push(...audit(lab.home, true), ...interruptedOnce(HomeView.read(lab.home)))
  return { broken, next: ended as LabEnded }
}

/** Recovery ends well, leaves nothing behind but damage, and finds nothing to do the second time. */
async function recover(lab: MachineLab, isDamaged: boolean): Promise<string[]> {
  const broken: string[] = []
  const { status, stderr } = await lab.run(RECOVER)
  if (![...RESTS, ...(isDamaged ? [CORRUPT] : [])].includes(status as number))
    broken.push(`recover --all exits ${status}: ${stderr.trim()}`)
  if (!isDamaged) broken.push(...audit(lab.home, true))
  const once = HomeView.read(lab.home)
  await lab.run(RECOVER)
  const twice = HomeView.read(lab.home)
  for (const { state, log } of once.agents) {
    if (twice.agent(state.id)?.log.equals(log) !== true)
      broken.push(`a second recover --all changes no log, but that of ${state.path} was changed`)
  }
  // What recovery leaves to a person, who says this.
  for (const { state } of twice.agents) {
    if (state.run?.status !== 'interrupted' || state.hold || state.state === 'terminated') continue
    const resumed = await lab.run(['resume', state.id])
    if (!RESTS.includes(resumed.status as number))
      broken.push(`resume goes on with what recovery left, not ${resumed.status}: ${resumed.stderr.trim()}`)
  }
  return broken
}

/** Done, or left to a person or a time. */
const RESTS = [0, 5, INTERRUPTED, 7]

export function effectsOf({ workspace }: MachineLab): number {
  const file = join(workspace, EFFECTS)
  return existsSync(file) ? readFileSync(file, 'utf8').split('\n').length - 1 : 0
}

function* wrongAtEnd(
  end: string[],
  expected: End,
  isDone: boolean,
  { isForEach }: Prepared,
): Iterable<string> {
  const known = new Set([...expected.with, ...expected.without])
  if (isForEach === true && !isDone && end.every((line) => known.has(line))) return

  const isWith = isSame(end, expected.with)
  if (isWith || (!isDone && isSame(end, expected.without))) return
  const differs = (from: string[]): string =>
    [
      ...from.filter((line) => !end.includes(line)).map((line) => `- ${line}`),
      ...end.filter((line) => !from.includes(line)).map((line) => `+ ${line}`),
    ].join('\n      ')
  yield isDone
    ? `what was acknowledged is there\n      ${differs(expected.with)}`
    : `it is there whole or not at all\n      ${differs(expected.with)}\n    or\n      ${differs(expected.without)}`
}

function isSame(a: string[], b: string[]): boolean {
  return a.length === b.length && a.every((line, index) => line === b[index])
}
