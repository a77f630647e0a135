/**
 * A turn that is struck in the middle of its phase. The model or the tool holds every phase except the permission,
 * which a program passes at its own pace. If a turn has left its phase too early, the lab begins another and strikes
 * earlier.
 */
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import type { Random } from '../../../test/support/random.js'
import type { Ended, Started } from '../../support/lab.js'
import { oneLine, type Trial } from '../trial.js'
import { Job, type Phase } from './job.js'
import type { Mode, Strike } from './modes.js'
import { strike, targetsOf } from './targets.js'

export const AGENT = 'k'
const KEY = 'job'
const TRIES_MAX = 8
const STOPPED_MS = 300
const PAUSE_MS_MAX = 1200
/** The pause in a permission, which no model holds. */
const BRIEF_PAUSE_MS_MAX = 400
/** Doubled with every try. */
const TIMEOUT_SECONDS = 60
const LEFT_MS_MAX = 60_000

/** A turn in the middle of its phase. */
interface Met {
  sender: Started
  /** Every process of the home. */
  all: number[]
}

export class StruckTurn {
  /** The sent signals, and the commands with their exit statuses, in order. */
  readonly story: string[] = []
  readonly violations: string[] = []
  job: Job

  constructor(
    private readonly trial: Trial,
    private readonly id: string,
    private readonly mode: Mode,
    private readonly phase: Phase,
    private readonly random: Random,
  ) {
    this.job = this.begin(0)
  }

  /** Returns the end of the command that ran the turn. */
  async run(): Promise<Ended> {
    const pauseMs = this.random.below(this.phase === 'permission' ? BRIEF_PAUSE_MS_MAX : PAUSE_MS_MAX)
    const strikes = this.mode.strikes(this.random)
    const isReleasedAtOnce = this.mode.name === 'other signals' || this.random.chance(0.5)
    for (let tried = 0; tried < TRIES_MAX; tried++) {
      if (tried > 0) await this.beginAnew(tried)
      const met = await this.meet(pauseMs / 2 ** tried, tried)
      if (met !== undefined) return this.strikeDown(met, strikes, isReleasedAtOnce)
      this.story.push('missed')
    }
    throw new Error(`no turn of ${TRIES_MAX} is met in the phase ${this.phase}`)
  }

  get sending(): string[] {
    return ['send', AGENT, this.job.prompt, '--key', KEY, '--json']
  }

  async command(name: string, argv: string[], exits: number[] | undefined): Promise<Ended> {
    const ended = await this.trial.run(...argv)
    const { code, stdout, stderr } = ended
    this.story.push(`${name}: ${statusOf(ended)}`)
    if (exits !== undefined && !exits.includes(code ?? -1))
      this.violations.push(`${name} ends with ${exits.join(' or ')}: ${code} ${oneLine(stderr || stdout)}`)
    return ended
  }

  /** Kills everything that still runs. */
  async clearAway(): Promise<void> {
    this.job.release()
    for (const pid of this.trial.leftProcesses()) strike([pid], 'SIGKILL')
    await this.trial.nothingRuns(LEFT_MS_MAX).catch(() => undefined)
  }

  /** A new job in its own home, different from all earlier tries. */
  private begin(tried: number): Job {
    this.trial.beginHome()
    const id = tried === 0 ? this.id : `${this.id}-again-${tried}`
    const job = new Job(id, this.phase, this.trial.program, join(this.trial.place.workspace, `${id}.txt`))
    this.trial.model.answer = (asked) => job.answer(asked)
    return job
  }

  private async beginAnew(tried: number): Promise<void> {
    await this.clearAway()
    this.job = this.begin(tried)
  }

  /** The command whose turn is in the middle of its phase; undefined if the turn has left it. */
  private async meet(pauseMs: number, tried: number): Promise<Met | undefined> {
    const allowed = this.phase === 'permission' ? [] : ['--allow', 'all']
    const spawned = await this.trial.spawn(AGENT, ...allowed)
    if (spawned.code !== 0)
      throw new Error(`spawn ends with ${statusOf(spawned)}: ${oneLine(spawned.stderr)}`)
    const hasTimeout = this.mode.endedBy === 'timeout'
    const timeout = hasTimeout ? ['--turn-timeout', `${TIMEOUT_SECONDS * 2 ** tried}s`] : []
    const sender = this.trial.start(...this.sending, ...timeout)
    await Promise.race([this.job.waitForPhase(), sender.ended])
    if (isRunning(sender)) await sleep(pauseMs)
    const all = this.trial.leftProcesses()
    if (isRunning(sender) && targets('program', sender, all).length > 0) return { sender, all }
    if (isRunning(sender) && this.phase !== 'permission')
      throw new Error(`no program runs in the phase ${this.phase}`)
    const ended = await sender.ended
    // The turn exceeded its timeout, or had already asked for permission.
    if ((hasTimeout && ended.code === 12) || (this.phase === 'permission' && ended.code === 5))
      return undefined
    throw new Error(
      `the turn ended before its phase ${this.phase}, with ${statusOf(ended)}: ${oneLine(ended.stderr)}`,
    )
  }

  private async strikeDown(
    { sender, all }: Met,
    strikes: Strike[],
    isReleasedAtOnce: boolean,
  ): Promise<Ended> {
    for (const [index, { signal, to }] of strikes.entries()) {
      if (index > 0) await sleep(STOPPED_MS)
      // The processes found before: until the signal is sent, the turn may leave its phase.
      const pids = targets(to, sender, index === 0 ? all : this.trial.leftProcesses())
      if (this.random.chance(0.5)) pids.reverse()
      strike(pids, signal)
      this.story.push(`${signal} to ${to} (${pids.length})`)
    }
    if (isReleasedAtOnce && this.mode.endedBy === undefined) this.job.release()
    if (this.mode.endedBy === 'cancel') await this.command('cancel', ['cancel', AGENT], [0])
    const ended = await sender.ended
    this.job.release()
    this.story.push(`send: ${statusOf(ended)}`)
    this.checkExit(ended)
    return ended
  }

  /** If the program had already asked, the turn waits for a decision: exit 5. */
  private checkExit(ended: Ended): void {
    const { exits, name } = this.mode
    const isParked = this.phase === 'permission' && ended.code === 5
    const isOther = name === 'other signals' && ended.signal !== null
    if (isParked || isOther || exits.includes(ended.code)) return
    this.violations.push(
      `the struck command ends with ${exits.join(' or ')}: ${statusOf(ended)} ${oneLine(ended.stderr)}`,
    )
  }
}

function statusOf({ code, signal }: Ended): string {
  return String(code ?? signal)
}

function targets(to: Strike['to'], { child }: Started, all: number[]): number[] {
  return targetsOf(to, [child.pid as number], all)
}

function isRunning({ child }: Started): boolean {
  return child.exitCode === null && child.signalCode === null
}
