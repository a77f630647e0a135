/**
 * The contract that holds after any crash. Each function runs real commands and returns the broken promises as
 * sentences.
 */
import { isInterrupted } from '../../src/session/status.js'
import { audit, danglingEntries, HomeView } from '../support/home-view.js'
import { type Broken, interruptedOnce, nothingAdded, nothingRewritten } from '../support/promises.js'
import { type Scenario, type Told, wordsOf } from './scenario.js'
import type { Answer, Facts, LabName, Stage } from './stage.js'

/** Both orders must work: the next command sees either the state after the crash, or the state after recovery. */
export const ORDERS = ['next command, then recover', 'recover, then next command'] as const
export type Order = (typeof ORDERS)[number]

export const RECOVER = ['recover', '--all']
const INTERRUPTED = 6
const CORRUPT = 10

/** A crash, and the facts known about it. */
export interface Crash {
  scenario: Scenario
  facts: Facts
  told: Told
  /** 2 if recovery crashed as well. */
  crashes: number
}

/** Checks the home in the state that the crash left. */
export function* rightAfter({ scenario, facts, told }: Crash, home: string): Broken {
  if (scenario.isDamaged !== true) yield* audit(home, false)
  yield* scenario.always?.(home, facts) ?? []
  yield* scenario.checkAcknowledged(told, HomeView.read(home))
}

/** Runs recovery and the next command in one order until all is done, then the operator's commands. */
export async function goOn(stage: Stage, crash: Crash, order: Order): Promise<string[]> {
  const { scenario, facts, told } = crash
  const before = HomeView.read(stage.home)
  const { broken } = await takeUp(stage, crash, order)
  for (const act of scenario.afterwards ?? []) broken.push(...(await perform(stage, crash, act)).broken)
  const after = HomeView.read(stage.home)
  broken.push(
    ...audit(stage.home, true),
    ...(scenario.removes === undefined ? [] : danglingEntries(stage.home)),
    ...nothingRewritten(before, after, mayGo(scenario, stage.lab)),
    ...interruptedOnce(after),
    ...(scenario.always?.(stage.home, facts) ?? []),
    ...scenario.checkAcknowledged({ ...told, isLater: true }, after),
    ...scenario.finally(after, told),
  )
  return broken
}

/** Agents whose logs may be gone: a power cut may remove an agent that no command has acknowledged. */
export function mayGo({ removes = [], isDamaged }: Scenario, lab: LabName): string[] | 'any' {
  return lab === 'powercut' || isDamaged === true ? 'any' : removes
}

/** Runs the next command and recovery in the given order. */
export async function takeUp(
  stage: Stage,
  crash: Crash,
  order: Order,
  rests: number[] = crash.scenario.recoverExits ?? [],
): Promise<{ broken: string[]; next: Answer }> {
  const { next, isDamaged = false } = crash.scenario
  const isNextFirst = order === 'next command, then recover'
  const broken: string[] = []
  if (!isNextFirst) broken.push(...(await recover(stage, rests, isDamaged)))
  const done = await perform(stage, crash, next)
  broken.push(...done.broken)
  // A damaged home can be recovered only after the repair.
  if (isNextFirst || isDamaged) broken.push(...(await recover(stage, rests, false)))
  return { broken, next: done.ended }
}

async function perform(
  stage: Stage,
  { facts, told, crashes }: Crash,
  { argv, check }: Scenario['next'],
): Promise<{ broken: string[]; ended: Answer }> {
  const ended = await stage.run(wordsOf(argv, facts, told))
  return { ended, broken: [...check(ended, told, crashes), ...audit(stage.home, false)] }
}

/** Recovery must succeed, leave nothing but damage behind, and find nothing to do the second time. */
async function recover(stage: Stage, rests: number[], isDamaged: boolean): Promise<string[]> {
  const broken: string[] = []
  const { status, stderr } = await stage.run(RECOVER)
  const allowed = [0, INTERRUPTED, ...rests, ...(isDamaged ? [CORRUPT] : [])]
  if (!allowed.includes(status as number))
    broken.push(`recover --all exits ${allowed.join(' or ')}, not ${status}: ${stderr.trim()}`)
  if (!isDamaged) broken.push(...audit(stage.home, true))
  const once = HomeView.read(stage.home)
  await stage.run(RECOVER)
  const twice = HomeView.read(stage.home)
  broken.push(...nothingAdded(once, twice))
  // After its bound of attempts recovery leaves a turn to the operator, who resumes it.
  for (const { state } of twice.agents.filter(({ state }) => isInterrupted(state) && !state.hold)) {
    const resumed = await stage.run(['resume', state.id])
    if (resumed.status !== 0 && !rests.includes(resumed.status as number))
      broken.push(
        `resume continues the turn that recovery left, not exit ${resumed.status}: ${resumed.stderr.trim()}`,
      )
  }
  return broken
}
