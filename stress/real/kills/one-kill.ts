/** Kills one turn in its middle, continues it as its user would, and checks the promises. */
import { readdirSync } from 'node:fs'
import { setTimeout as sleep } from 'node:timers/promises'
import type { Random } from '../../../test/support/random.js'
import type { Ended } from '../../support/lab.js'
import { oneLine, type Trial } from '../trial.js'
import type { Job, Phase } from './job.js'
import type { Mode } from './modes.js'
import { AGENT, StruckTurn } from './struck-turn.js'
import { commandOf } from './targets.js'

export interface Kill {
  program: string
  number: number
  mode: string
  phase: Phase
  /** The sent signals, and the commands with their exit statuses, in order. */
  story: string[]
  /** Whether the reply came. */
  isContinued: boolean
  timesDone: number
  /**
   * Whether the model was informed of the interruption. `kept`: it was not asked again, because the turn had finished.
   */
  warningSeen: 'told' | 'kept' | 'untold' | 'undisturbed'
  violations: string[]
}

const ROUNDS_MAX = 6
const LEFT_CHARACTERS = 120
const LEFT_MS_MAX = 60_000

type Route = 'key' | 'recover' | 'resume' | 'retry' | 'retry key' | 'approve' | 'reseed'

export class OneKill {
  private readonly turn: StruckTurn
  private isContinued = false
  private continuedAt = Number.POSITIVE_INFINITY
  private isUndisturbed = false

  constructor(
    private readonly trial: Trial,
    private readonly number: number,
    private readonly mode: Mode,
    private readonly phase: Phase,
    private readonly random: Random,
  ) {
    this.turn = new StruckTurn(trial, `mark-${trial.program.name}-${number}`, mode, phase, random)
  }

  async run(): Promise<Kill> {
    const { violations, story } = this.turn
    try {
      await this.live()
    } catch (error) {
      violations.push(`the lab goes through it: ${(error as Error).message}`)
    } finally {
      await this.turn.clearAway()
    }
    const { number, mode, phase, job, trial } = this
    return {
      program: trial.program.name,
      number,
      mode: mode.name,
      phase,
      story,
      isContinued: this.isContinued,
      timesDone: job.timesDone(),
      warningSeen: this.warningSeen(),
      violations,
    }
  }

  /** The job of the struck turn, which need not be the first. */
  private get job(): Job {
    return this.turn.job
  }

  private get violations(): string[] {
    return this.turn.violations
  }

  private async live(): Promise<void> {
    const { program, env } = this.trial
    if (program.isWarm === true) env.SUBSTRAT_WARM_MAX = this.random.chance(0.5) ? '1' : '0'
    const ended = await this.turn.run()
    this.isUndisturbed = ended.code === 0
    await sleep(this.random.below(1500))
    this.continuedAt = performance.now()
    await this.continueTurn(ended)
    this.judgeWork()
    await this.judgeHome()
  }

  /** Continues as a user would: the same command, `recover --all` or `resume`, and a decision where one is requested. */
  private async continueTurn({ code }: Ended): Promise<void> {
    const first = this.random.pick<Route>(['key', 'recover', 'resume'])
    const again = this.random.pick<Route>(['retry', 'retry key'])
    // A turn that was already waiting for a decision is cancelled too.
    const hasEnded = this.mode.endedBy === 'cancel' || [9, 12, 14].includes(code ?? 0)
    let route = hasEnded ? again : code === 5 ? 'approve' : code === 0 ? 'key' : first
    for (let round = 0; round < ROUNDS_MAX; round++) {
      const ended = await this.turn.command(route, this.argvOf(route), undefined)
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
    this.violations.push(`the turn ends within ${ROUNDS_MAX} commands`)
  }

  private argvOf(route: Route): string[] {
    switch (route) {
      case 'key':
        return this.turn.sending
      case 'retry key':
        return [...this.turn.sending, '--retry']
      case 'recover':
        return ['recover', '--all', '--json']
      case 'reseed':
        return ['resume', AGENT, '--reseed', '--json']
      default:
        return [route, AGENT, '--json']
    }
  }

  /** Exit 13 of `resume`: there is nothing to resume, because the turn waits or has ended. */
  private checkExit(route: Route, ended: Ended): void {
    const { code, stderr, stdout } = ended
    // The program was killed before it wrote its session: the hint says how to continue.
    if (isLost(ended)) return
    const fine: (number | null)[] = route === 'resume' || route === 'reseed' ? [0, 5, 6, 13] : [0, 5, 6]
    if (!fine.includes(code))
      this.violations.push(`${route} ends with ${fine.join(' or ')}: ${code} ${oneLine(stderr || stdout)}`)
  }

  /** The same key afterwards returns the same reply. */
  private async repeats(route: Route): Promise<void> {
    const before = this.job.deliveries.length
    const { code, stdout, stderr } = await this.turn.command('key', this.turn.sending, undefined)
    // The key of a cancelled turn keeps that outcome; `retry` starts another turn.
    if (route === 'retry' && (code === 12 || code === 14)) return
    if (code !== 0 || !stdout.includes(this.job.reply))
      this.violations.push(`the same key has the same reply: ${code} ${oneLine(stdout || stderr)}`)
    if (this.job.deliveries.length > before)
      this.violations.push('the same key sends no new request to the model')
  }

  private judgeWork(): void {
    const { job } = this
    if (job.timesDone() !== 1) this.violations.push(`the work is done once: ${job.timesDone()} times`)
    const bare = Math.max(...job.deliveries.map((each) => each.bare))
    if (bare > 1) this.violations.push(`the bare prompt is in a native session once: ${bare} times`)
    if (this.warningSeen() === 'untold')
      this.violations.push('a model that is asked again is informed of the interruption')
  }

  private warningSeen(): Kill['warningSeen'] {
    if (this.isUndisturbed) return 'undisturbed'
    // Later requests of an earlier program follow a tool result; they are not prompts.
    const asked = this.job.deliveries.filter(({ at, isNew }) => isNew && at > this.continuedAt)
    if (asked.some(({ told }) => told === 0) && !this.isAnswered) return 'untold'
    return this.job.deliveries.some(({ told }) => told > 0) ? 'told' : 'kept'
  }

  /** After an approval a program continues in the session that asked. */
  private get isAnswered(): boolean {
    return this.turn.story.some((line) => line.startsWith('approve'))
  }

  private async judgeHome(): Promise<void> {
    if (this.trial.program.isWarm === true) await this.turn.command('suspend', ['suspend', AGENT], [0])
    await this.trial.nothingRuns(LEFT_MS_MAX).catch(() => {
      const left = this.trial
        .leftProcesses()
        .map((pid) => `${pid} ${commandOf(pid).slice(0, LEFT_CHARACTERS)}`)
      this.violations.push(`no process of the turn is left: ${left.join('; ')}`)
    })
    const temps = readdirSync(this.trial.env.TMPDIR as string).filter((name) => name.startsWith('substrat-'))
    if (temps.length > 0) this.violations.push(`no temporary file is left: ${temps.join(', ')}`)
    await this.turn.command('doctor', ['doctor', '--all'], [0])
  }
}

function isLost({ code, stdout, stderr }: Ended): boolean {
  return code === 9 && /session_lost|--reseed/.test(stdout + stderr)
}
