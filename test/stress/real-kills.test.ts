/** The plan of `npm run test:real -- --kills 40`, without real programs. */
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { execAgent } from '../../stress/real/exec-agent.js'
import { Job, PHASES } from '../../stress/real/kills/job.js'
import { MODES } from '../../stress/real/kills/modes.js'
import { type Choice, planOf } from '../../stress/real/kills/plan.js'
import type { Asked } from '../../stress/real/model.js'
import { KILLED_PROGRAMS } from '../../stress/real/programs.js'
import { tempDirectory } from '../support/temp.js'

const CHOICE: Choice = {
  kills: 40,
  seed: 1,
  modes: MODES.map(({ name }) => name),
  phases: [...PHASES],
  range: undefined,
}

test.each(KILLED_PROGRAMS.map((program) => [program.name, program] as const))(
  '40 kills of %s cover every mode in every phase that it can reach',
  (_, program) => {
    const planned = new Set(planOf(program, CHOICE).map(({ mode, phase }) => `${mode.name}, ${phase}`))
    const phases = PHASES.filter(
      (phase) => phase !== 'permission' || program.cannot?.permission === undefined,
    )
    const cells = MODES.flatMap(({ name }) => phases.map((phase) => `${name}, ${phase}`))
    expect([...planned].sort()).toEqual(cells.sort())
  },
)

test('a kill that is repeated by its number is the same kill', () => {
  const [program] = KILLED_PROGRAMS
  if (program === undefined) throw new Error('there is no program')
  const [again] = planOf(program, { ...CHOICE, range: { from: 7, to: 7 } })
  expect(again).toEqual(planOf(program, CHOICE)[7])
})

test('the model continues after a prompt that quotes the approved command', async () => {
  const job = new Job('mark-1', 'permission', execAgent, join(tempDirectory(), 'made.txt'))
  const first = await job.answer(asked(job.prompt))
  const [call] = first.tool_calls ?? []
  const granted = `Your turn was interrupted. The turn was: ${job.prompt} Granted: ${JSON.stringify(call?.input)}`
  expect((await job.answer(asked(granted))).tool_calls).toEqual([call])
  expect(job.deliveries.map(({ bare, told }) => [bare, told])).toEqual([
    [1, 0],
    [0, 1],
  ])
})

test('the wait for a phase ends if the turn will not reach it', async () => {
  const job = new Job('mark-2', 'thinking', execAgent, join(tempDirectory(), 'made.txt'))
  job.release()
  await expect(job.waitForPhase()).resolves.toBeUndefined()
})

function asked(text: string): Asked {
  return { texts: [text], latest: text, isAfterTool: false, tools: ['run'], headers: {} }
}
