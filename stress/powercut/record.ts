/** Records one run of a command, or of the recovery after a power cut, as a trace. */
import type { LabProcess } from '../machine/process.js'
import { MachineStage } from '../machine/stage.js'
import { RECOVER } from '../scenarios/contract.js'
import { envOf, type Scenario, wordsOf } from '../scenarios/scenario.js'
import type { Desk } from './desk.js'
import { readImage } from './image.js'
import type { Plan } from './judge.js'
import { type Told, Trace } from './trace.js'

/** Prepares the home and runs the command on it, and traces each disk step. */
export async function record(
  desk: Desk,
  scenario: Scenario,
): Promise<{ plan: Plan; trace: Trace; last: Told }> {
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
    const others = await scenario.meanwhile?.(stage)
    main = desk.start(plan.argv)
    status = (await main.ended).status
    await others?.()
    trace.end()
    stage.hurry()
    // Otherwise the lab would cut the power under a refused command.
    if (![scenario.exit ?? 0].flat().includes(status as number))
      throw new Error(`${scenario.name} exits ${status}, not ${scenario.exit ?? 0}: ${main.stderr}`)
    return { plan, trace, last: toldNow() }
  } finally {
    desk.onStep = () => undefined
  }
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
