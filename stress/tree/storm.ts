/**
 * Many commands on one home at once, some of them killed with their process group. What each was told is kept: it is
 * what the home is held to afterwards.
 *
 * The plan follows from the seed: commands, their order in the queue, which are to be killed and after how long. What a
 * kill meets, which shell is quicker and what agents do meanwhile does not: those are real processes.
 */
import { median } from '../bench/measure.js'
import type { Ended, Lab, Started } from '../support/lab.js'
import type { PlannedAgent } from './family.js'
import { meanwhile, type Operation } from './plan.js'
import type { Random } from './random.js'

/** An operation, and what those who gave the command know of it. */
export interface Entry {
  operation: Operation
  /** Clock times: before its first attempt, after its last. */
  begun: number
  ended: number
  /** Of the last attempt. */
  told: Ended
  kills: number
}

export interface StormOptions {
  /** Kills that are to hit a living process. */
  kills: number
  /** Shells that work through the plan at once. */
  shells: number
}

/** `continue`: nobody sits there who would say what became of a shell that was cut short. */
const ENVIRONMENT = {
  SUBSTRAT_RETRY_DELAYS: '10ms,20ms,40ms',
  SUBSTRAT_RECOVERY_UNKNOWN_TOOL: 'continue',
}

const ATTEMPTS_MAX = 6
/** One that takes longer hangs. A delivery of all that has piled up takes its time. */
const COMMAND_MS_MAX = 300_000
/** A delivery of very many messages is killed in its first seconds, or few would be. */
const TYPICAL_MS_MAX = 2000
const FIRST_MS = 200
const TIMES_KEPT = 15

export class Storm {
  readonly ledger: Entry[] = []
  /** That ended a process. */
  kills = 0
  /** By command, those that were killed. */
  readonly killsOf: Record<string, number> = {}
  private readonly times = new Map<string, number[]>()
  private readonly living = new Set<number>()
  private planned = 0
  private done = 0

  constructor(
    private readonly lab: Lab,
    private readonly home: string,
    /** Of the one that delivers and recovers. */
    private readonly random: Random,
    private readonly options: StormOptions,
  ) {}

  /** One after another, none of them killed. */
  async calmly(operations: Operation[]): Promise<void> {
    for (const operation of operations) await this.perform(operation, false)
  }

  /** In as many shells as are wanted, beside somebody who delivers and recovers; until all are done. */
  async rage(operations: Operation[], family: PlannedAgent[]): Promise<void> {
    this.planned += operations.length
    const queue = operations.values()
    let isOver = false
    const shell = async (): Promise<void> => {
      for (const operation of queue) {
        await this.perform(operation, true)
        this.done += 1
      }
    }
    const cron = async (): Promise<void> => {
      while (!isOver) await this.perform(meanwhile(this.random, family), true)
    }
    const others = cron()
    await Promise.all(Array.from({ length: this.options.shells }, shell))
    isOver = true
    await others
  }

  /** Deliveries that are killed, until so many kills are reached; `needsVisit` says whether there is anything to do. */
  async killDeliveries(hasWork: () => boolean): Promise<void> {
    this.done = this.planned
    const { kills } = this.options
    while (this.kills < kills && hasWork()) {
      const verb = this.random.chance(0.7) ? 'deliver' : 'recover'
      const killAt = this.random.between(0.1, 1.2)
      await this.perform({ verb, argv: [verb, '--all'], isRepeated: false, killAt }, true)
    }
  }

  /** Whatever still runs, where the run has come to a bad end. */
  stop(): void {
    for (const pid of this.living) killGroup(pid)
  }

  private start(argv: string[]): Started {
    const started = this.lab.start(this.home, argv, {
      // As a shell runs it: what is killed is the shell and the command.
      under: ['sh', '-c', '"$@"; exit $?', 'sh'],
      env: ENVIRONMENT,
      ownGroup: true,
      timeoutMs: COMMAND_MS_MAX,
    })
    const { pid } = started.child
    if (pid === undefined) return started
    this.living.add(pid)
    const ended = started.ended.finally(() => this.living.delete(pid))
    return { ...started, ended }
  }

  private async perform(operation: Operation, mayKill: boolean): Promise<void> {
    const begun = Date.now()
    let kills = 0
    for (let attempt = 1; ; attempt++) {
      const { child, ended } = this.start(operation.argv)
      const isLast = attempt === ATTEMPTS_MAX
      const { killAt, verb } = operation
      const isDue = mayKill && !isLast && killAt !== null && this.wantsKills()
      // Later each time, or it would never come past that point.
      const killAfterMs = (killAt ?? 0) * this.typicalMs(verb) * attempt
      const timer = isDue ? setTimeout(() => killGroup(child.pid), killAfterMs) : undefined
      const startMs = performance.now()
      const told = await ended
      clearTimeout(timer)
      if (told.signal === null) this.took(verb, performance.now() - startMs)
      if (told.signal === 'SIGKILL') {
        if (!isDue) throw new Error(`substrat ${operation.argv.join(' ')} did not come to an end`)
        kills += 1
        this.kills += 1
        this.killsOf[operation.verb] = (this.killsOf[operation.verb] ?? 0) + 1
      }
      if (told.signal === 'SIGKILL' && operation.isRepeated && !isLast) continue
      this.ledger.push({ operation, begun, ended: Date.now(), told, kills })
      return
    }
  }

  private took(verb: string, ms: number): void {
    this.times.set(verb, [...(this.times.get(verb) ?? []), ms].slice(-TIMES_KEPT))
  }

  /** What such a command takes on this machine, with what it has to do besides. */
  private typicalMs(verb: string): number {
    const times = this.times.get(verb) ?? []
    return times.length === 0 ? FIRST_MS : Math.min(median(times), TYPICAL_MS_MAX)
  }

  /** Whether fewer were killed than should have been by now. */
  private wantsKills(): boolean {
    return this.kills < this.options.kills * Math.min(1, (this.done + 10) / (this.planned + 1))
  }
}

function killGroup(pid: number | undefined): void {
  if (pid === undefined) return
  try {
    process.kill(-pid, 'SIGKILL')
  } catch (error) {
    // It ended by itself a moment ago.
    if ((error as NodeJS.ErrnoException).code !== 'ESRCH') throw error
  }
}
