/** Records one run of a command, or of the recovery after a power cut, as a trace. */
import type { LabProcess } from '../machine/process.js'
import { MachineStage } from '../machine/stage.js'
import { RECOVER } from '../scenarios/contract.js'
import { withOthers } from '../scenarios/ends.js'
import { envOf, type Scenario, type Words, wordsOf } from '../scenarios/scenario.js'
import type { Desk } from './desk.js'
import { Disk } from './disk.js'
import { readImage } from './image.js'
import type { Plan } from './judge.js'
import { type Steps, type Told, Trace, type TracedStep } from './trace.js'

interface Recorded {
  trace: Steps
  last: Told
}

/** Prepares the home and runs the command on it, and traces each disk step. */
export async function record(desk: Desk, scenario: Scenario): Promise<{ plan: Plan } & Recorded> {
  const stage = new MachineStage('powercut', desk, envOf(scenario, desk.root))
  let main: LabProcess | undefined
  let status: Told['status']
  const toldNow = (): Told => ({
    ...{ lab: 'powercut', stdout: main?.stdout ?? '', stderr: main?.stderr ?? '', status },
    workspace: readImage(desk.workspace),
  })
  const trace = new Trace(desk.disk, toldNow)
  desk.onStep = trace.onStep
  try {
    const facts = (await scenario.prepare(stage)) ?? {}
    const plan = { scenario, stage, facts, argv: wordsOf(scenario.argv, facts) }
    scenario.restore?.(desk.home, facts)
    trace.preparedSteps = trace.steps.length
    await withOthers(scenario, stage, async () => {
      main = desk.start(plan.argv)
      status = (await main.ended).status
    })
    trace.end()
    stage.hurry()
    // Otherwise the lab would cut the power under a refused command.
    if (![scenario.exit ?? 0].flat().includes(status as number))
      throw new Error(`${scenario.name} exits ${status}, not ${scenario.exit ?? 0}: ${toldNow().stderr}`)
    const alone = { trace, last: toldNow() }
    return {
      plan,
      ...(scenario.beside === undefined ? alone : await withBeside(desk, plan, scenario.beside, alone)),
    }
  } catch (error) {
    stage.end()
    throw error
  } finally {
    desk.onStep = () => undefined
  }
}

/** Runs the second command on the home from which the first began, and alternates the steps of the two. */
async function withBeside(
  desk: Desk,
  plan: Plan,
  words: Words,
  { trace, last }: Recorded,
): Promise<Recorded> {
  const { preparedSteps, steps } = trace
  const disk = new Disk()
  for (const { step } of steps.slice(0, preparedSteps)) disk.apply(step)
  desk.resetTo(disk.now())
  let other: LabProcess | undefined
  const toldNow = (): Told => ({ ...last, stdout: other?.stdout ?? '', stderr: other?.stderr ?? '' })
  const second = new Trace(desk.disk, toldNow)
  desk.onStep = second.onStep
  other = desk.start(wordsOf(words, plan.facts))
  const { status } = await other.ended
  second.end()
  if (status !== 0)
    throw new Error(`the command beside ${plan.scenario.name} exits ${status}: ${other.stderr}`)
  const woven = weave(steps.slice(preparedSteps), second.steps, last, toldNow())
  return {
    trace: { preparedSteps, steps: [...steps.slice(0, preparedSteps), ...woven] },
    last: both(last, toldNow()),
  }
}

function weave(first: TracedStep[], second: TracedStep[], firstEnd: Told, secondEnd: Told): TracedStep[] {
  return Array.from({ length: Math.max(first.length, second.length) }).flatMap((_, index) => {
    const [one, next, two] = [first[index], first[index + 1], second[index]]
    const [oneTold, twoTold] = [one?.before ?? firstEnd, two?.before ?? secondEnd]
    return [
      ...(one === undefined ? [] : [{ step: one.step, before: both(oneTold, twoTold) }]),
      ...(two === undefined ? [] : [{ step: two.step, before: both(next?.before ?? firstEnd, twoTold) }]),
    ]
  })
}

/** The output of both commands at one moment. */
function both(first: Told, second: Told): Told {
  return { ...first, stdout: first.stdout + second.stdout, stderr: first.stderr + second.stderr }
}

/** The command's acknowledgements still hold. The output of the recovery is not read. */
export async function recordRecovery(desk: Desk, before: Told): Promise<{ trace: Trace; last: Told }> {
  const toldNow = (): Told => ({ ...before, workspace: readImage(desk.workspace) })
  const trace = new Trace(desk.disk, toldNow, false)
  desk.onStep = trace.onStep
  try {
    await desk.run(RECOVER)
    return { trace, last: toldNow() }
  } finally {
    desk.onStep = () => undefined
  }
}
