/**
 * Faults in the recovery after a kill of each command, at the steps that change something. (After a kill of rebuild, in
 * the next rebuild.)
 */

import { EXIT_STATUS } from '../../src/errors.js'
import type { Operation } from '../../src/host/disk/operation.js'
import type { Image } from '../machine/image.js'
import type { MachineLab } from '../machine/lab.js'
import { RECOVER } from '../scenarios/contract.js'
import { endingOnFailure, withOthers } from '../scenarios/ends.js'
import { type Scenario, wordsOf } from '../scenarios/scenario.js'
import { changes } from './errors.js'
import { prepareTemplate } from './sweep.js'

/** The kill comes before every k-th changing step. A command with fewer steps is killed in the middle. */
export async function nestedOf(
  lab: MachineLab,
  empty: Image,
  scenario: Scenario,
  every: number,
): Promise<Scenario[]> {
  const { argv, stage } = await prepareTemplate(lab, empty, scenario)
  const steps: Operation[] = []
  const noting = (operation: Operation): undefined => void steps.push(operation)
  await endingOnFailure(stage, () => withOthers(scenario, stage, () => lab.run(argv, noting)))
  stage.end()
  const points = steps.map((step, index) => ({ step, n: index + 1 })).filter(({ step }) => changes(step))
  const first = Math.min(every - 1, Math.floor(points.length / 2))
  return points
    .filter((_, index) => index % every === first)
    .map(({ step, n }) => recoveryAfterKill(lab, scenario, n, step.point))
}

/** The work beside the command ends before the recovery. */
function recoveryAfterKill(
  lab: MachineLab,
  { meanwhile, ...scenario }: Scenario,
  n: number,
  point: string,
): Scenario {
  return {
    ...scenario,
    name: `${scenario.name}, killed before step ${n} (${point}), then on`,
    ...(scenario.isDamaged === true
      ? {}
      : { argv: RECOVER, exit: [0, EXIT_STATUS.INTERRUPTED, ...(scenario.recoverExits ?? [])] }),
    async prepare(stage) {
      const facts = (await scenario.prepare(stage)) ?? {}
      scenario.restore?.(stage.home, facts)
      let count = 0
      const argv = wordsOf(scenario.argv, facts)
      await withOthers({ meanwhile }, stage, () =>
        lab.run(argv, () => (++count === n ? { kill: true } : undefined)),
      )
      return facts
    },
  }
}
