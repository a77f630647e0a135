/**
 * Surveys one scenario. Its command is recorded once. For a power cut after each of its steps, every possible disk is
 * made, judged and continued. A sample of the recoveries is cut in the same way.
 */
import { SubstratError } from '../../src/errors.js'
import { Random } from '../../test/support/random.js'
import { randomBy } from '../machine/patches.js'
import type { Order } from '../scenarios/contract.js'
import type { Scenario } from '../scenarios/scenario.js'
import { type Choice, choicesOf } from './choices.js'
import type { Desk } from './desk.js'
import { Disk, type Pending } from './disk.js'
import { digestOf, type Image } from './image.js'
import { judge, type Plan } from './judge.js'
import { record, recordRecovery } from './record.js'
import type { Steps, Told } from './trace.js'

export interface SurveyOptions {
  seed: number
  /** If a prefix has too many states to try all, this many more are drawn by the seed. */
  sample: number
  /** Tries every k-th state. */
  every: number
  /** After every k-th tried state, the power is also cut during recovery; 0 for never. */
  nestedEvery: number
  /** The number of states tried in such a recovery. */
  nestedSample: number
  /** Syncs to leave out. */
  ignores?: ((point: string) => boolean) | undefined
  /** Stops at the first violation. */
  stopsEarly?: boolean
  /** With `only`: one state of the recovery after it. */
  onlyNested?: string | undefined
  /** The one state to try, as a violation names it. */
  only?: string | undefined
}

export interface FoundViolation {
  scenario: string
  /** The step before the cut, and the option of each pending change. */
  state: string
  lost: string[]
  order: Order | undefined
  /** The cut during the recovery, if there was one. */
  nested: { state: string; lost: string[] } | undefined
  broken: string
}

export interface SurveyReport {
  scenario: string
  steps: number
  /** The sync points of the command. */
  syncPoints: string[]
  /** The number of legal states. A state reachable after several steps counts each time. */
  enumerated: number
  states: number
  nestedStates: number
  commands: number
  violations: FoundViolation[]
  seconds: number
}

export async function survey(desk: Desk, scenario: Scenario, options: SurveyOptions): Promise<SurveyReport> {
  return new Survey(desk, scenario, options).run()
}

interface State {
  name: string
  image: Image
  told: Told
  lost: string[]
}

class Survey {
  private readonly began = performance.now()
  private readonly random: Random
  private readonly report: SurveyReport
  private ignores: (point: string) => boolean = () => false

  constructor(
    private readonly desk: Desk,
    private readonly scenario: Scenario,
    private readonly options: SurveyOptions,
  ) {
    this.random = new Random(options.seed)
    this.report = {
      scenario: scenario.name,
      steps: 0,
      syncPoints: [],
      enumerated: 0,
      states: 0,
      nestedStates: 0,
      commands: 0,
      violations: [],
      seconds: 0,
    }
  }

  async run(): Promise<SurveyReport> {
    const { desk, scenario, options, report } = this
    const ids = new Random(options.seed)
    randomBy(() => ids.next())
    desk.clear()
    const commandsBefore = desk.commands
    const { plan, trace, last } = await record(desk, scenario)
    report.steps = trace.steps.length - trace.preparedSteps
    const syncs = trace.steps.slice(trace.preparedSteps).filter(({ step }) => step.name === 'sync')
    report.syncPoints = [...new Set(syncs.map(({ step }) => step.point))]
    try {
      await this.tryStates(plan, trace, last)
    } finally {
      plan.stage.end()
    }
    report.commands = desk.commands - commandsBefore
    report.seconds = (performance.now() - this.began) / 1000
    return report
  }

  private async tryStates(plan: Plan, trace: Steps, last: Told): Promise<void> {
    const { options, report } = this
    let count = 0
    for (const state of this.statesOf(trace, last, this.knownStates(trace, last))) {
      if (options.only === undefined && count++ % options.every !== 0) continue
      report.states += 1
      await this.try(plan, state)
      const isSampled = options.nestedEvery > 0 && report.states % options.nestedEvery === 0
      if (options.only === undefined ? isSampled : options.onlyNested !== undefined)
        await this.cutRecovery(plan, state)
      if (options.stopsEarly === true && report.violations.length > 0) break
    }
  }

  /** Yields each state once. `seen` holds the keys of known states. */
  private *statesOf({ steps, preparedSteps }: Steps, last: Told, seen: Set<string>): Generator<State> {
    const disk = new Disk()
    for (const { step } of steps.slice(0, preparedSteps)) disk.apply(step)
    disk.age()
    disk.ignores = this.ignores
    for (let done = preparedSteps; done <= steps.length; done++) {
      const told = steps[done]?.before ?? last
      for (const choice of this.choicesAfter(done - preparedSteps, disk.pending)) {
        this.report.enumerated += 1
        const image = imageOf(disk, choice)
        const key = `${digestOf(image, sameness)} ${told.stdout.length} ${told.stderr.length} ${told.status}`
        if (seen.has(key)) continue
        seen.add(key)
        yield { name: nameOf(done - preparedSteps, choice), image, told, lost: lostIn(disk.pending, choice) }
      }
      const next = steps[done]
      if (next !== undefined) disk.apply(next.step)
    }
  }

  /** If a sync is left out, only the states that it would have prevented matter. */
  private knownStates(trace: Steps, last: Told): Set<string> {
    const { ignores } = this.options
    const known = new Set<string>()
    if (ignores === undefined) return known
    for (const _ of this.statesOf(trace, last, known));
    this.ignores = ignores
    this.report.enumerated = 0
    return known
  }

  private choicesAfter(done: number, pending: readonly Pending[]): Iterable<Choice> {
    const { only, sample } = this.options
    if (only === undefined) return choicesOf(pending, this.random, sample)
    const [step, choice = ''] = only.split(':')
    return Number(step) === done ? [choice.split('.').map(Number)] : []
  }

  private async try(plan: Plan, state: State): Promise<void> {
    for (const { order, broken } of await this.judgeState(plan, state, 1)) this.note(state, { order, broken })
  }

  private async judgeState(plan: Plan, { image, told }: State, cuts: number): ReturnType<typeof judge> {
    try {
      return await judge(this.desk, plan, image, told, cuts)
    } catch (error) {
      return [{ order: undefined, broken: `the audit can read it: ${describe(error)}` }]
    }
  }

  /** Records the recovery from that state, and cuts it. */
  private async cutRecovery(plan: Plan, state: State): Promise<void> {
    const { desk } = this
    desk.comeUp(state.image, state.told.workspace)
    plan.scenario.restore?.(desk.home, plan.facts)
    const { trace, last } = await recordRecovery(desk, state.told)
    const all: State[] = []
    const disk = Disk.of(state.image)
    const seen = new Set<string>()
    for (let done = 0; done <= trace.steps.length; done++) {
      for (const choice of choicesOf(disk.pending, this.random, 0)) {
        const image = imageOf(disk, choice)
        const key = digestOf(image, sameness)
        if (seen.has(key)) continue
        seen.add(key)
        const told = trace.steps[done]?.before ?? last
        all.push({ name: nameOf(done, choice), image, told, lost: lostIn(disk.pending, choice) })
      }
      const next = trace.steps[done]
      if (next !== undefined) disk.apply(next.step)
    }
    for (const cut of this.nestedOf(all)) {
      this.report.nestedStates += 1
      for (const { order, broken } of await this.judgeState(plan, cut, 2))
        this.note(state, { order, broken, nested: cut })
    }
  }

  private nestedOf(states: State[]): State[] {
    const { only, onlyNested, nestedSample } = this.options
    if (only !== undefined) return states.filter(({ name }) => name === onlyNested)
    const left = [...states]
    const drawn: State[] = []
    while (drawn.length < nestedSample && left.length > 0)
      drawn.push(...left.splice(this.random.below(left.length), 1))
    return drawn
  }

  private note(
    { name, lost }: State,
    found: { order: Order | undefined; broken: string; nested?: State },
  ): void {
    this.report.violations.push({
      scenario: this.scenario.name,
      state: name,
      lost,
      ...found,
      nested: found.nested && { state: found.nested.name, lost: found.nested.lost },
    })
  }
}

/** The holder in a lock file is only for people: all readable contents count as equal, and all unreadable ones. */
function sameness(path: string, bytes: Buffer): Buffer | string {
  if (!HOLDERS.test(path) || bytes.length === 0) return bytes
  try {
    return JSON.parse(bytes.toString('utf8')) === null ? 'nobody' : 'somebody'
  } catch {
    return 'damaged'
  }
}

const HOLDERS = /\/(lock|slots\/[^/]+\/\d+)$/

function imageOf(disk: Disk, choice: Choice): Image {
  const options = new Map(
    disk.pending.map((pending, index) => [pending, pending.options[choice[index] ?? 0]]),
  )
  return disk.image((pending) => options.get(pending) ?? 'whole')
}

function nameOf(done: number, choice: Choice): string {
  return `${done}:${choice.join('.')}`
}

function lostIn(pending: readonly Pending[], choice: Choice): string[] {
  return pending.flatMap(({ point, what, options }, index) =>
    choice[index] === 0 ? [] : [`${options[choice[index] as number]}: ${point} ${what}`],
  )
}

function describe(error: unknown): string {
  return error instanceof SubstratError
    ? error.message
    : error instanceof Error
      ? (error.stack ?? '')
      : String(error)
}
