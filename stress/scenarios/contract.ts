/** What holds after a crash, whichever it was. Each function runs real commands and returns the sentences that are broken. */
import { isInterrupted } from '../../src/session/status.js'
import { audit, HomeView } from '../support/home-view.js'
import { type Broken, interruptedOnce, nothingAdded, nothingRewritten } from '../support/promises.js'
import { type Scenario, type Told, wordsOf } from './scenario.js'
import type { Answer, Facts, LabName, Stage } from './stage.js'

/** Both must come out right: the next command finds what the crash left, or what recovery made of it. */
export const ORDERS = ['next command, then recover', 'recover, then next command'] as const
export type Order = (typeof ORDERS)[number]

export const RECOVER = ['recover', '--all']
const INTERRUPTED = 6
const CORRUPT = 10

/** A crash, and what is known of it. */
export interface Crash {
  scenario: Scenario
  facts: Facts
  told: Told
  /** 2 where recovery had one of its own. */
  crashes: number
}

/** Of the home as the crash left it. */
export function* rightAfter({ scenario, facts, told }: Crash, home: string): Broken {
  if (scenario.isDamaged !== true) yield* audit(home, false)
  yield* scenario.always?.(home, facts) ?? []
  yield* scenario.acknowledged(told, HomeView.read(home))
}

/** The home goes on by itself, in one order, until all is done, and then a person does the rest. */
export async function goOn(stage: Stage, crash: Crash, order: Order): Promise<string[]> {
  const { scenario, facts, told } = crash
  const before = HomeView.read(stage.home)
  const { broken } = await takeUp(stage, crash, order)
  for (const act of scenario.afterwards ?? []) broken.push(...(await perform(stage, crash, act)).broken)
  const after = HomeView.read(stage.home)
  broken.push(
    ...audit(stage.home, true),
    ...nothingRewritten(before, after, mayGo(scenario, stage.lab)),
    ...interruptedOnce(after),
    ...(scenario.always?.(stage.home, facts) ?? []),
    ...scenario.acknowledged({ ...told, isLater: true }, after),
    ...scenario.finally(after, told),
  )
  return broken
}

/** Agents whose logs may be gone: a power cut takes one that no command has acknowledged. */
export function mayGo({ removes = [], isDamaged }: Scenario, lab: LabName): string[] | 'any' {
  return lab === 'powercut' || isDamaged === true ? 'any' : removes
}

/** The next command and recovery, in that order. */
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
  // What was damaged is only now to be recovered.
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

/** Recovery ends well, leaves nothing behind but damage, and finds nothing to do the second time. */
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
  // Past its bound recovery leaves a turn to a person, who says this.
  for (const { state } of twice.agents.filter(({ state }) => isInterrupted(state) && !state.hold)) {
    const resumed = await stage.run(['resume', state.id])
    if (resumed.status !== 0 && !rests.includes(resumed.status as number))
      broken.push(`resume goes on with what recovery left, not ${resumed.status}: ${resumed.stderr.trim()}`)
  }
  return broken
}
