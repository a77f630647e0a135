/** What `npm run test:real -- --kills 40` goes through, without a program. */
import { expect, test } from 'vitest'
import { PHASES } from '../../stress/real/kills/job.js'
import { MODES } from '../../stress/real/kills/modes.js'
import { type Choice, planOf } from '../../stress/real/kills/plan.js'
import { KILLED_PROGRAMS } from '../../stress/real/programs.js'

const CHOICE: Choice = {
  kills: 40,
  seed: 1,
  modes: MODES.map(({ name }) => name),
  phases: [...PHASES],
  range: undefined,
}

test.each(KILLED_PROGRAMS.map((program) => [program.name, program] as const))(
  '40 kills of %s are every mode in every phase that it can reach',
  (_, program) => {
    const planned = new Set(planOf(program, CHOICE).map(({ mode, phase }) => `${mode.name}, ${phase}`))
    const phases = PHASES.filter(
      (phase) => phase !== 'permission' || program.cannot?.permission === undefined,
    )
    const cells = MODES.flatMap(({ name }) => phases.map((phase) => `${name}, ${phase}`))
    expect([...planned].sort()).toEqual(cells.sort())
  },
)

test('a kill that is run again by its number is the same', () => {
  const [program] = KILLED_PROGRAMS
  if (program === undefined) throw new Error('there is no program')
  const [again] = planOf(program, { ...CHOICE, range: { from: 7, to: 7 } })
  expect(again).toEqual(planOf(program, CHOICE)[7])
})
