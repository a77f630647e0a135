/** What has to hold of a disk that came out of a power cut: at once, and when the home has gone on by itself. */
import { audit, HomeView } from '../support/home-view.js'
import { type Broken, interruptedOnce, nothingAdded, nothingRewritten } from '../support/promises.js'
import type { Desk } from './desk.js'
import type { Image } from './image.js'
import { type Case, exits } from './scenario.js'
import type { Told } from './trace.js'

/** Both must come out right: the next command finds what the cut left, or what recovery made of it. */
const ORDERS = ['recover first', 'next command first'] as const
export type Order = (typeof ORDERS)[number]

export interface Violation {
  order: Order | undefined
  broken: string
}

export async function judge(
  desk: Desk,
  plan: Case,
  disk: Image,
  told: Told,
  cuts: number,
): Promise<Violation[]> {
  const violations: Violation[] = []
  desk.comeUp(disk, told.workspace)
  for (const broken of rightAfter(desk, plan, told)) violations.push({ order: undefined, broken })
  for (const [index, order] of ORDERS.entries()) {
    if (plan.isDamaged === true && order === 'recover first') continue
    if (index > 0) desk.comeUp(disk, told.workspace)
    for (const broken of await goOn(desk, plan, told, order, cuts)) violations.push({ order, broken })
  }
  return violations
}

function* rightAfter(desk: Desk, plan: Case, told: Told): Broken {
  if (plan.isDamaged !== true) yield* audit(desk.home, false)
  yield* plan.acknowledged(told, HomeView.read(desk.home))
}

/** The home goes on by itself until all is done. */
async function goOn(desk: Desk, plan: Case, told: Told, order: Order, cuts: number): Promise<string[]> {
  const broken: string[] = []
  const before = HomeView.read(desk.home)
  const next = async (): Promise<void> => {
    const ended = await desk.run(plan.next.argv)
    broken.push(...plan.next.check(ended, told, cuts))
  }
  if (order === 'next command first') {
    await next()
    broken.push(...audit(desk.home, false))
  }
  broken.push(...(await recover(desk, plan)))
  if (order === 'recover first') await next()
  for (const argv of plan.afterwards ?? []) broken.push(...exits(await desk.run(argv), 0))
  const after = HomeView.read(desk.home)
  broken.push(
    ...audit(desk.home, true),
    ...nothingRewritten(before, after, 'any'),
    ...interruptedOnce(after),
    ...plan.acknowledged(told, after),
    ...plan.finally(after, told),
  )
  return broken
}

/** Recovery ends well, leaves nothing behind, and finds nothing to do the second time. */
async function recover(desk: Desk, { recoverExits = [] }: Case): Promise<string[]> {
  const broken: string[] = []
  const { status, stderr } = await desk.run(RECOVER)
  if (![0, INTERRUPTED, ...recoverExits].includes(status as number))
    broken.push(`recover --all exits 0 or ${INTERRUPTED}, not ${status}: ${stderr.trim()}`)
  broken.push(...audit(desk.home, true))
  const once = HomeView.read(desk.home)
  await desk.run(RECOVER)
  broken.push(...nothingAdded(once, HomeView.read(desk.home)))
  // What recovery leaves to a person, who says this.
  for (const { state } of once.agents.filter(
    ({ state }) => state.run?.status === 'interrupted' && !state.hold,
  )) {
    const resumed = await desk.run(['resume', state.id])
    if (resumed.status !== 0)
      broken.push(`resume goes on with what recovery left, not ${resumed.status}: ${resumed.stderr.trim()}`)
  }
  return broken
}

const INTERRUPTED = 6
export const RECOVER = ['recover', '--all']
