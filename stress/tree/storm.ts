/**
 * Runs many commands on one home at once, and kills some of them with their process groups. Their results are recorded,
 * and the home is judged by them.
 *
 * The seed decides the commands, their order in the queue, and which are killed after what time. The step that a kill
 * hits, the order of the shells and the agents' work in between depend on real processes.
 */

import type { Random } from '../../test/support/random.js'
import { median } from '../bench/measure.js'
import type { Ended, Lab, Started } from '../support/lab.js'
import type { PlannedAgent } from './family.js'
import { meanwhile, type Operation } from './plan.js'

/** An operation, and the facts known to its caller. */
export interface Entry {
  operation: Operation
  /** Clock times before the first attempt and after the last. */
  begun: number
  ended: number
  /** The result of the last attempt. */
  told: Ended
  kills: number
}

export interface StormOptions {
  /** The number of kills that must hit a living process. */
  kills: number
  /** The number of shells that work through the plan in parallel. */
  shells: number
}

/** `continue`: no operator is there to decide the outcome of an interrupted shell tool. */
const ENVIRONMENT = {
  SUBSTRAT_RETRY_DELAYS: '10ms,20ms,40ms',
  SUBSTRAT_RECOVERY_UNKNOWN_TOOL: 'continue',
}

const ATTEMPTS_MAX = 6
/** A command that takes longer counts as hung. A delivery of a long backlog is slow. */
const COMMAND_MS_MAX = 300_000
/** Kills a delivery of a long backlog in its first seconds. Otherwise few deliveries would be killed. */
const TYPICAL_MS_MAX = 2000
const FIRST_MS = 200
const TIMES_KEPT = 15

export class Storm {
  readonly ledger: Entry[] = []
  /** Kills that ended a process. */
  kills = 0
  /** Those kills, by command. */
  readonly killsOf: Record<string, number> = {}
  private readonly times = new Map<string, number[]>()
  private readonly living = new Set<number>()
  private planned = 0
  private done = 0

  constructor(
    private readonly lab: Lab,
    private readonly home: string,
    /** For the loop that delivers and recovers. */
    private readonly random: Random,
    private readonly options: StormOptions,
  ) {}

  /** One command after another, without kills. */
  async runCalmly(operations: Operation[]): Promise<void> {
    for (const operation of operations) await this.perform(operation, false)
  }

  /** Runs the operations in that many shells, next to a loop that delivers and recovers, until all are done. */
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

  /** Kills deliveries until the number of kills is reached. `hasWork` says whether there is mail to deliver. */
  async killDeliveries(hasWork: () => boolean): Promise<void> {
    this.done = this.planned
    const { kills } = this.options
    while (this.kills < kills && hasWork()) {
      const verb = this.random.chance(0.7) ? 'deliver' : 'recover'
      const killAt = this.random.between(0.1, 1.2)
      await this.perform({ verb, argv: [verb, '--all'], isRepeated: false, killAt }, true)
    }
  }

  /** Kills all running processes after a failed run. */
  stop(): void {
    for (const pid of this.living) killGroup(pid)
  }

  private start(argv: string[]): Started {
    const started = this.lab.start(this.home, argv, {
      // Runs it in a shell. A kill hits the shell and the command.
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
      // Kills later in each attempt. Otherwise the command would never get past that point.
      const killAfterMs = (killAt ?? 0) * this.typicalMs(verb) * attempt
      const timer = isDue ? setTimeout(() => killGroup(child.pid), killAfterMs) : undefined
      const startMs = performance.now()
      const told = await ended
      clearTimeout(timer)
      if (told.signal === null) this.took(verb, performance.now() - startMs)
      if (told.signal === 'SIGKILL') {
        if (!isDue) throw new Error(`substrat ${operation.argv.join(' ')} did not end`)
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

  /** The usual duration of such a command on this machine, under this load. */
  private typicalMs(verb: string): number {
    const times = this.times.get(verb) ?? []
    return times.length === 0 ? FIRST_MS : Math.min(median(times), TYPICAL_MS_MAX)
  }

  /** Whether the storm is behind its planned number of kills. */
  private wantsKills(): boolean {
    return this.kills < this.options.kills * Math.min(1, (this.done + 10) / (this.planned + 1))
  }
}

function killGroup(pid: number | undefined): void {
  if (pid === undefined) return
  try {
    process.kill(-pid, 'SIGKILL')
  } catch (error) {
    // It has just ended by itself.
    if ((error as NodeJS.ErrnoException).code !== 'ESRCH') throw error
  }
}
