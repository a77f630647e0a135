/**
 * Runs a sequence as real processes: real kills, real signals, programs as tools. The seed does not fix the clock, the
 * ids or the order of the processes, so a kill can strike at another step. This host has no power cuts and no disk
 * faults.
 */
import { existsSync, mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { processesWith } from '../../test/support/processes.js'
import { median } from '../bench/measure.js'
import type { Lab } from '../support/lab.js'
import { type Counts, type Host, noCounts, type Planned, type Told } from './host.js'
import { type Left, leftIn, notifySetting } from './notified.js'
import type { Pace } from './pace.js'
import type { Harm } from './steps.js'

/** A command that takes longer counts as hung. */
const COMMAND_MS_MAX = 600_000
/** The disk-changing steps of an average command. Converts the step of a kill into a share of the command's time. */
const USUAL_STEPS = 40
const FIRST_MS = 300
const TIMES_KEPT = 15
const ENVIRONMENT = { SUBSTRAT_RETRY_DELAYS: '10ms,20ms,40ms' }

/** Takes an event, but fails for every third process id. `$0` is the file of all events. */
const TARGET = 'event=$(cat); [ $(($$ % 3)) -ne 0 ] || exit 1; printf "%s\\n" "$event" >> "$0"'

export class ProcessHost implements Host {
  readonly counts: Counts = noCounts()
  readonly home: string
  readonly workspace: string
  readonly notify: string
  private readonly leftFile: string
  private readonly times: number[] = [FIRST_MS]
  private lastJump = Promise.resolve()

  constructor(
    directory: string,
    private readonly lab: Lab,
    readonly pace: Pace,
    home?: string,
  ) {
    rmSync(directory, { recursive: true, force: true })
    this.home = home ?? join(directory, 'home')
    this.workspace = join(directory, 'workspace')
    this.leftFile = join(directory, 'left')
    this.notify = notifySetting({ run: ['sh', '-c', TARGET, this.leftFile] })
    mkdirSync(this.workspace, { recursive: true })
    writeFileSync(join(this.workspace, 'notes.txt'), 'notes\n')
  }

  async run(planned: Planned[]): Promise<Told[]> {
    await this.lastJump
    return Promise.all(planned.map((each) => this.start(each)))
  }

  left(): Left[] {
    if (!existsSync(this.leftFile)) return []
    const lines = readFileSync(this.leftFile, 'utf8').split('\n')
    return lines.slice(0, -1).map(leftIn)
  }

  now(): number {
    return Date.now()
  }

  /** The real clock cannot be set here: wait instead. */
  jump(ms: number): void {
    this.lastJump = sleep(Math.max(0, ms))
  }

  powerCut(): void {
    throw new Error('this host cannot cut the power')
  }

  leftBehind(): number[] {
    return processesWith(`SUBSTRAT_HOME=${this.home}`)
  }

  private async start({ argv, harm, startMs }: Planned): Promise<Told> {
    await sleep(startMs)
    this.counts.commands += 1
    const began = performance.now()
    const { child, ended } = this.lab.start(this.home, argv, { env: ENVIRONMENT, timeoutMs: COMMAND_MS_MAX })
    let isHarmed = false
    const later = this.harmOf(harm)
    const timer =
      later &&
      setTimeout(() => {
        if (child.exitCode === null && child.signalCode === null) isHarmed = child.kill(later.signal)
      }, later.ms)
    const { code, signal, stdout, stderr } = await ended
    clearTimeout(timer)
    if (signal === 'SIGKILL' && !isHarmed) throw new Error(`substrat ${argv.join(' ')} did not end`)
    if (signal === 'SIGKILL') this.counts.kills += 1
    else if (isHarmed) this.counts.signals += 1
    else this.times.push(performance.now() - began)
    if (this.times.length > TIMES_KEPT) this.times.shift()
    // A fault that came after the last command hit no command.
    return {
      argv,
      status: code ?? 'killed',
      stdout,
      stderr,
      isHarmed: isHarmed && (signal !== null || code !== 0),
    }
  }

  private harmOf(harm: Harm | null): { signal: NodeJS.Signals; ms: number } | undefined {
    switch (harm?.harm) {
      case 'kill':
        return { signal: 'SIGKILL', ms: (harm.at / USUAL_STEPS) * median(this.times) }
      case 'kill_persisting':
        return { signal: 'SIGKILL', ms: (harm.sharePercent / 100) * median(this.times) }
      case 'kill_later':
        return { signal: 'SIGKILL', ms: harm.ms + median(this.times) / 2 }
      case 'signal':
        return { signal: harm.name, ms: harm.ms + median(this.times) / 2 }
      default:
        return undefined
    }
  }
}

function sleep(ms: number): Promise<void> {
  return new Promise((resolve) => {
    setTimeout(resolve, ms)
  })
}
