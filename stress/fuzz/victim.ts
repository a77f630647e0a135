/** Runs a sequence with its faults, and checks the invariants after each step. */
import { openHome } from '../../src/storage/open.js'
import { audit } from '../support/home-view.js'
import { Durations } from './durations.js'
import { inTwin, isTaken } from './happened.js'
import type { Host, Told } from './host.js'
import { leftByRule } from './notified.js'
import { judge } from './oracle.js'
import { Person } from './person.js'
import { recoverHome, settleHome } from './settle.js'
import type { Command, Sequence, Step } from './steps.js'
import { type Done, exitsAreOfTheContract, type StepDone, type Story } from './story.js'
import { World } from './world.js'

export interface Lived {
  story: Story
  /** `atEnd` is the home before it was brought to an idle state, `atRest` after. */
  atEnd: World
  atRest: World
  violations: string[]
}

export async function live(host: Host, { steps }: Sequence): Promise<Lived> {
  const life = new Life(host)
  await host.run([{ argv: ['config', 'set', 'notify', host.notify], harm: null, startMs: 0 }])
  for (const [index, step] of steps.entries()) {
    const violations = await life.step(index, step).catch(inWords)
    if (violations.length > 0) return life.end(violations.map((each) => `step ${index}: ${each}`))
  }
  return life.end(undefined)
}

/** Reports a host whose command hung, or ended in an impossible way. */
export function inWords(error: unknown): string[] {
  return [`every command ends: ${error instanceof Error ? error.stack : error}`]
}

class Life {
  private readonly person: Person
  private readonly durations: Durations
  private readonly story: Story = { steps: [], removed: new Set() }
  /** How far the clock is behind its latest time. */
  private behindMs = 0
  private powerCuts = 0
  private logs: Map<string, Buffer>

  constructor(private readonly host: Host) {
    this.person = new Person(host)
    this.durations = new Durations(host)
    this.logs = logsOf(host.home)
  }

  async step(index: number, step: Step): Promise<string[]> {
    switch (step.kind) {
      case 'clock':
        this.host.jump(step.ms)
        this.durations.noteJump(step.ms)
        this.behindMs = Math.max(0, this.behindMs - step.ms)
        this.story.steps.push({ step, done: [], isHarmed: false })
        return []
      case 'cut':
        return this.cut(step)
      case 'commands':
        return this.commands(index, step)
    }
  }

  async end(violations: string[] | undefined): Promise<Lived> {
    const atEnd = World.read(this.host.home)
    const early = [...this.durations.tooEarly(atEnd)]
    const broken =
      violations ??
      (await settleHome(this.host, this.behindMs, (told) => this.person.hear(told)).catch(inWords))
    const atRest = World.read(this.host.home)
    const judged =
      broken.length > 0
        ? broken
        : early.length > 0
          ? early
          : [
              ...this.lost(),
              ...judge(this.story, atRest, this.person),
              ...leftByRule(atRest, this.host.left()),
            ]
    return { story: this.story, atEnd, atRest, violations: judged }
  }

  private cut(step: Extract<Step, { kind: 'cut' }>): Promise<string[]> {
    const before = World.read(this.host.home)
    this.host.powerCut()
    return this.after({ step, done: [], isHarmed: true }, before)
  }

  private async commands(index: number, step: Extract<Step, { kind: 'commands' }>): Promise<string[]> {
    const before = step.commands.some(({ harm }) => harm !== null) ? World.read(this.host.home) : undefined
    const words = step.commands.map(({ action }, place) => this.person.words(action, `${index}x${place}`))
    this.host.jump(step.clockOffMs)
    const told = await this.host.run(
      step.commands.map(({ harm, startMs }, place) => ({ argv: words[place]?.argv ?? [], harm, startMs })),
    )
    this.host.jump(-step.clockOffMs)
    // Work scheduled under that clock must be due as well.
    this.behindMs = Math.max(this.behindMs, step.clockOffMs)
    for (const each of told) this.person.hear(each)
    const done = step.commands.map(
      (command: Command, place): Done => ({
        command,
        words: words[place] as Done['words'],
        told: told[place] as Told,
        inTwin: [(words[place] as Done['words']).argv],
      }),
    )
    const broken = done.flatMap((each) => [...exitsAreOfTheContract(each, done.length === 1)])
    broken.push(...this.durations.after(step.clockOffMs, done))
    const isHarmed = told.some((each) => each.isHarmed)
    if (isHarmed) broken.push(...audit(this.host.home, false))
    if (broken.length > 0) return broken
    return this.after({ step, done, isHarmed }, before)
  }

  private async after(done: StepDone, before?: World): Promise<string[]> {
    const harms = done.step.kind === 'commands' ? done.step.recoveryHarms : []
    const between = done.isHarmed && before !== undefined ? World.read(this.host.home) : undefined
    const broken = done.isHarmed ? await recoverHome(this.host, harms, (told) => this.person.hear(told)) : []
    const removes = done.done.some(({ command }) => ['remove', 'prune'].includes(command.action.do))
    if (removes) this.noteRemoved()
    if (before !== undefined && between !== undefined) {
      const after = World.read(this.host.home)
      if (this.host.counts.powerCuts > this.powerCuts)
        for (const { done: earlier } of this.story.steps)
          for (const each of earlier) if (isTaken(each, before, after)) each.inTwin = []
      for (const each of done.done) each.inTwin = inTwin(each, { before, between, after })
    }
    this.powerCuts = this.host.counts.powerCuts
    this.story.steps.push(done)
    return [...broken, ...this.lost()]
  }

  /** Logs only grow, and are removed only with their agents. */
  private lost(): string[] {
    const before = this.logs
    this.logs = logsOf(this.host.home)
    return [...before].flatMap(([id, log]) => {
      const now = this.logs.get(id)
      if (now?.subarray(0, log.length).equals(log) === true || this.story.removed.has(id)) return []
      return [
        now === undefined
          ? `an agent stays until it is removed: ${id} is gone`
          : `a log keeps its first ${log.length} bytes: that of ${id} does not`,
      ]
    })
  }

  private noteRemoved(): void {
    const now = logsOf(this.host.home)
    for (const id of this.logs.keys()) if (!now.has(id)) this.story.removed.add(id)
  }
}

/** The logs by agent, read while no command writes. */
function logsOf(home: string): Map<string, Buffer> {
  const store = openHome(home)
  const logs = (store?.agentIds() ?? []).flatMap((id): [string, Buffer][] => {
    const log = store?.openLog(id)
    try {
      return log === undefined ? [] : [[id, log.read(0, log.size())]]
    } finally {
      log?.close()
    }
  })
  return new Map(logs)
}
