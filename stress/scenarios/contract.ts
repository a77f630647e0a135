/**
 * What has to hold after a kill, whatever was killed where. Each function runs real commands on a home and yields the
 * sentences that are broken.
 */
import { isInterrupted } from '../../src/session/status.js'
import { audit, HomeView } from '../support/home-view.js'
import type { Ended, Lab } from '../support/lab.js'
import { type Broken, interruptedOnce, nothingAdded, nothingRewritten } from '../support/promises.js'
import { type Act, envOf, type Scenario, wordsOf } from './scenario.js'

/** Both must come out right: the next command finds what the kill left, or what recovery made of it. */
export const ORDERS = ['next command, then recover', 'recover, then next command'] as const
export type Order = (typeof ORDERS)[number]

/** Of the home as the kill left it. `before` is the home as it was. */
export function* rightAfter(scenario: Scenario, home: string, told: Ended, before: HomeView): Broken {
  yield* audit(home, false)
  const view = HomeView.read(home)
  yield* nothingRewritten(before, view, scenario.removes)
  yield* scenario.acknowledged(told, view)
}

/**
 * The home goes on by itself, in one order, until all is done. `kills` is how many processes were killed in it: 2 where
 * recovery was, too.
 */
export async function goOn(
  lab: Lab,
  scenario: Scenario,
  home: string,
  told: Ended,
  order: Order,
  kills: number,
): Promise<string[]> {
  const broken: string[] = []
  const before = HomeView.read(home)
  const act = async ({ argv, check }: Act): Promise<void> => {
    const ended = await lab.run(home, wordsOf(argv, home, told), { env: envOf(scenario, lab) })
    broken.push(...check(ended, told, kills), ...audit(home, false))
  }
  if (order === 'next command, then recover') await act(scenario.next)
  broken.push(...(await recover(lab, scenario, home)))
  if (order === 'recover, then next command') await act(scenario.next)
  for (const last of scenario.afterwards ?? []) await act(last)
  const after = HomeView.read(home)
  broken.push(
    ...audit(home, true),
    ...nothingRewritten(before, after, scenario.removes),
    ...interruptedOnce(after),
    ...scenario.finally(after, told),
  )
  return broken
}

/** Recovery ends well, leaves nothing behind, and finds nothing to do the second time. */
async function recover(lab: Lab, scenario: Scenario, home: string): Promise<string[]> {
  const { recoverExits = [] } = scenario
  const env = envOf(scenario, lab)
  const broken: string[] = []
  const first = await lab.run(home, RECOVER, { env })
  const allowed = [0, INTERRUPTED, ...recoverExits]
  if (!allowed.includes(first.code ?? -1))
    broken.push(
      `recover --all exits ${allowed.join(' or ')}, not ${first.code ?? first.signal}: ${first.stderr.trim()}`,
    )
  broken.push(...audit(home, true))
  const once = HomeView.read(home)
  await lab.run(home, RECOVER, { env })
  broken.push(...nothingAdded(once, HomeView.read(home)))
  // Past its bound recovery leaves a turn to a person, who says this.
  for (const { state } of once.agents.filter(({ state }) => isInterrupted(state) && !state.hold)) {
    const { code, stderr } = await lab.run(home, ['resume', state.id], { env })
    if (code !== 0 && !recoverExits.includes(code ?? -1))
      broken.push(`resume goes on with what recovery left, not ${code}: ${stderr.trim()}`)
  }
  return broken
}

const INTERRUPTED = 6
export const RECOVER = ['recover', '--all']
