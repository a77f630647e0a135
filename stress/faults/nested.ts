/** Faults in the recovery that follows a kill (of a rebuild in the next one), of each command, at steps that change something. */
import type { Operation } from '../../src/host/disk/io.js'
import type { Image } from '../machine/image.js'
import type { MachineLab } from '../machine/lab.js'
import { changes } from './errors.js'
import type { FaultScenario } from './scenario.js'

/** `every`: of so many such steps one is killed before. */
export async function nestedOf(
  lab: MachineLab,
  empty: Image,
  scenario: FaultScenario,
  every: number,
): Promise<FaultScenario[]> {
  lab.restore(empty)
  const { argv, meanwhile, restored } = await scenario.prepare(lab)
  if (meanwhile !== undefined) return []
  restored?.()
  const steps: Operation[] = []
  await lab.run(argv, (operation) => {
    steps.push(operation)
    return undefined
  })
  const points = steps.map((step, index) => ({ step, n: index + 1 })).filter(({ step }) => changes(step))
  return points
    .filter((_, index) => index % every === every - 1)
    .map(({ step, n }) => killed(scenario, n, step.point))
}

function killed(scenario: FaultScenario, n: number, point: string): FaultScenario {
  return {
    name: `${scenario.name}, killed before step ${n} (${point}), then on`,
    async prepare(lab) {
      const prepared = await scenario.prepare(lab)
      prepared.restored?.()
      let count = 0
      await lab.run(prepared.argv, () => (++count === n ? { kill: true } : undefined))
      return prepared.isDamaged === true ? prepared : { ...prepared, argv: ['recover', '--all'] }
    },
  }
}
