/** One turn that is killed in its middle, and gone on with as its user would; with what must hold then. */
import { readdirSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import type { Ended, Started } from '../../support/lab.js'
import type { Random } from '../../tree/random.js'
import { oneLine, type Trial } from '../trial.js'
import { Job, type Phase } from './job.js'
import type { Mode, Strike } from './modes.js'
import { commandOf, strike, targetsOf } from './targets.js'

export interface Kill {
  program: string
  number: number
  mode: string
  phase: Phase
  /** The signals that were sent, and the commands with their exit statuses, in order. */
  story: string[]
  /** The reply came. */
  isContinued: boolean
  timesDone: number
  /** The model was told of the interruption; `kept`: it was not asked again, because the turn had finished. */
  told: 'told' | 'kept' | 'untold' | 'undisturbed'
  violations: string[]
}

const AGENT = 'k'
const KEY = 'job'
const ROUNDS_MAX = 6
const STOPPED_MS = 300
/** Longer than any program takes to its phase, on a busy machine too. */
const TIMEOUT = '60s'
const LEFT_CHARACTERS = 120
const LEFT_MS_MAX = 15_000

type Route = 'key' | 'recover' | 'resume' | 'retry' | 'retry key' | 'approve' | 'reseed'

export class OneKill {
  private readonly story: string[] = []
  private readonly violations: string[] = []
  private readonly job: Job

  constructor(
    private readonly trial: Trial,
    private readonly number: number,
    private readonly mode: Mode,
    phase: Phase,
    private readonly random: Random,
  ) {
    trial.beginHome()
    const id = `mark-${trial.program.name}-${number}`
    this.job = new Job(id, phase, trial.program, join(trial.place.workspace, `${id}.txt`))
    trial.model.answer = (asked) => this.job.answer(asked)
  }

  async run(): Promise<Kill> {
    try {
      await this.live()
    } catch (error) {
      this.violations.push(`the lab goes through it: ${(error as Error).message}`)
    } finally {
      this.job.release()
      await this.clearAway()
    }
    const { story, violations, number, mode, job, trial } = this
    return {
      program: trial.program.name,
      number,
      mode: mode.name,
      phase: job.phase,
      story,
      isContinued: this.isContinued,
      timesDone: job.timesDone(),
      told: this.told(),
      violations,
    }
  }

  private isContinued = false
  private continuedAt = Number.POSITIVE_INFINITY
  private isUndisturbed = false

  private async live(): Promise<void> {
    const { program, env } = this.trial
    if (program.isWarm === true) env.SUBSTRAT_WARM_MAX = this.random.chance(0.5) ? '1' : '0'
    const allowed = this.job.phase === 'permission' ? [] : ['--allow', 'all']
    await this.must([0], await this.trial.spawn(AGENT, ...allowed), 'spawn')
    const ended = await this.struck()
    this.isUndisturbed = ended.code === 0
    await sleep(this.random.below(1500))
    this.continuedAt = performance.now()
    await this.continued(ended)
    this.judgeWork()
    await this.judgeHome()
  }

  /** The end of the command whose turn was met in its phase and struck. */
  private async struck(): Promise<Ended> {
    const timeout = this.mode.endedBy === 'timeout' ? ['--turn-timeout', TIMEOUT] : []
    const sender = this.trial.start(...this.sending, ...timeout)
    const isOver = sender.ended.then(({ code, stderr }) => {
      throw new Error(`the turn ended before its phase ${this.job.phase}, with ${code}: ${oneLine(stderr)}`)
    })
    await Promise.race([this.job.reached(), isOver])
    await sleep(this.random.below(this.job.phase === 'permission' ? 400 : 1200))
    const strikes = this.mode.strikes(this.random)
    const isReleasedAtOnce = this.mode.name === 'other signals' || this.random.chance(0.5)
    await this.strikeAll(sender, strikes)
    if (isReleasedAtOnce && this.mode.endedBy === undefined) this.job.release()
    if (this.mode.endedBy === 'cancel') await this.command('cancel', ['cancel', AGENT], [0])
    const ended = await sender.ended
    this.job.release()
    this.story.push(`send: ${statusOf(ended)}`)
    const isParked = this.job.phase === 'permission' && ended.code === 5
    const { exits } = this.mode
    const isOther = this.mode.name === 'other signals' && ended.signal !== null
    if (!isParked && !isOther && !exits.includes(ended.code))
      this.violations.push(
        `the struck command ends with ${exits.join(' or ')}: ${statusOf(ended)} ${oneLine(ended.stderr)}`,
      )
    return ended
  }

  private async strikeAll({ child }: Started, strikes: Strike[]): Promise<void> {
    for (const [index, { signal, to }] of strikes.entries()) {
      if (index > 0) await sleep(STOPPED_MS)
      const targets = targetsOf(to, [child.pid as number], this.trial.left())
      if (this.random.chance(0.5)) targets.reverse()
      strike(targets, signal)
      this.story.push(`${signal} to ${to} (${targets.length})`)
      if (targets.length === 0) this.violations.push(`the program runs in the phase ${this.job.phase}`)
    }
  }

  private get sending(): string[] {
    return ['send', AGENT, this.job.prompt, '--key', KEY, '--json']
  }

  /** As its user would: the same command, `recover --all` or `resume`, and a decision where one is asked for. */
  private async continued({ code }: Ended): Promise<void> {
    const first = this.random.pick<Route>(['key', 'recover', 'resume'])
    const again = this.random.pick<Route>(['retry', 'retry key'])
    let route = code === 5 ? 'approve' : code === 0 ? 'key' : [9, 12, 14].includes(code ?? 0) ? again : first
    for (let round = 0; round < ROUNDS_MAX; round++) {
      const ended = await this.command(route, this.argvOf(route), undefined)
      this.checkExit(route, ended)
      if (ended.code === 0 && ended.stdout.includes(this.job.reply) && route !== 'recover') {
        this.isContinued = true
        return this.repeats(route)
      }
      if (ended.code === 0 && route === 'key') {
        this.violations.push(`the reply is ${this.job.reply}: ${oneLine(ended.stdout)}`)
        return
      }
      route = isLost(ended)
        ? 'reseed'
        : ended.code === 5
          ? 'approve'
          : ended.code === 9
            ? again
            : route === 'reseed'
              ? again
              : 'key'
    }
    this.violations.push(`the turn comes to its end within ${ROUNDS_MAX} commands`)
  }

  private argvOf(route: Route): string[] {
    switch (route) {
      case 'key':
        return this.sending
      case 'retry key':
        return [...this.sending, '--retry']
      case 'recover':
        return ['recover', '--all', '--json']
      case 'reseed':
        return ['resume', AGENT, '--reseed', '--json']
      default:
        return [route, AGENT, '--json']
    }
  }

  /** 13 of `resume`: nothing is there to resume, because the turn waits or has ended. */
  private checkExit(route: Route, ended: Ended): void {
    const { code, stderr, stdout } = ended
    // Killed before it had written its session: the hint says how to go on.
    if (isLost(ended)) return
    const fine: (number | null)[] = route === 'resume' || route === 'reseed' ? [0, 5, 6, 13] : [0, 5, 6]
    if (!fine.includes(code))
      this.violations.push(`${route} ends with ${fine.join(' or ')}: ${code} ${oneLine(stderr || stdout)}`)
  }

  /** The same key afterwards returns the same reply. */
  private async repeats(route: Route): Promise<void> {
    const before = this.job.deliveries.length
    const { code, stdout, stderr } = await this.command('key', this.sending, undefined)
    // The key of a turn that was cancelled keeps that outcome; `retry` makes another turn.
    if (route === 'retry' && (code === 12 || code === 14)) return
    if (code !== 0 || !stdout.includes(this.job.reply))
      this.violations.push(`the same key has the same reply: ${code} ${oneLine(stdout || stderr)}`)
    if (this.job.deliveries.length > before) this.violations.push('the same key asks the model nothing anew')
  }

  private judgeWork(): void {
    const { job } = this
    if (job.timesDone() !== 1) this.violations.push(`the work is done once: ${job.timesDone()} times`)
    const bare = Math.max(...job.deliveries.map((each) => each.bare))
    if (bare > 1) this.violations.push(`the bare prompt is in a native session once: ${bare} times`)
    if (this.told() === 'untold')
      this.violations.push('a model that is asked again is told that its turn was interrupted')
  }

  private told(): Kill['told'] {
    if (this.isUndisturbed) return 'undisturbed'
    // What an earlier program still says to its model is after a tool, and no prompt.
    const asked = this.job.deliveries.filter(({ at, isNew }) => isNew && at > this.continuedAt)
    if (asked.some(({ told }) => told === 0) && !this.isAnswered) return 'untold'
    return this.job.deliveries.some(({ told }) => told > 0) ? 'told' : 'kept'
  }

  /** Approved, a program goes on in the session that has asked. */
  private get isAnswered(): boolean {
    return this.story.some((line) => line.startsWith('approve'))
  }

  private async judgeHome(): Promise<void> {
    if (this.trial.program.isWarm === true) await this.command('suspend', ['suspend', AGENT], [0])
    await this.trial.nothingRuns(LEFT_MS_MAX).catch(() => {
      const left = this.trial.left().map((pid) => `${pid} ${commandOf(pid).slice(0, LEFT_CHARACTERS)}`)
      this.violations.push(`no process of the turn is left: ${left.join('; ')}`)
    })
    const temps = readdirSync(this.trial.env.TMPDIR as string).filter((name) => name.startsWith('substrat-'))
    if (temps.length > 0) this.violations.push(`no temporary file is left: ${temps.join(', ')}`)
    await this.command('doctor', ['doctor', '--all'], [0])
  }

  private async clearAway(): Promise<void> {
    for (const pid of this.trial.left()) strike([pid], 'SIGKILL')
    await this.trial.nothingRuns(LEFT_MS_MAX).catch(() => undefined)
  }

  private async command(name: string, argv: string[], exits: number[] | undefined): Promise<Ended> {
    const ended = await this.trial.run(...argv)
    this.story.push(`${name}: ${statusOf(ended)}`)
    if (exits !== undefined) this.must(exits, ended, name)
    return ended
  }

  private must(exits: number[], { code, stdout, stderr }: Ended, name: string): void {
    if (!exits.includes(code ?? -1))
      this.violations.push(`${name} ends with ${exits.join(' or ')}: ${code} ${oneLine(stderr || stdout)}`)
  }
}

function isLost({ code, stdout, stderr }: Ended): boolean {
  return code === 9 && /session_lost|--reseed/.test(stdout + stderr)
}

function statusOf({ code, signal }: Ended): string {
  return String(code ?? signal)
}
