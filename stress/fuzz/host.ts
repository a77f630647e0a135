/** Runs the commands of a sequence: in this process on the simulated machine, or as real processes. */
import type { Left } from './notified.js'
import type { Pace } from './pace.js'
import type { Harm } from './steps.js'

export interface Planned {
  argv: string[]
  harm: Harm | null
  startMs: number
}

export interface Told {
  argv: string[]
  status: number | 'killed'
  stdout: string
  stderr: string
  /** Whether the planned fault happened. */
  isHarmed: boolean
}

export interface Counts {
  commands: number
  kills: number
  powerCuts: number
  faults: number
  signals: number
  clockJumps: number
}

export interface Host {
  readonly home: string
  readonly workspace: string
  readonly pace: Pace
  readonly counts: Counts
  /** The value of the setting `notify`. */
  readonly notify: string
  /** The events that have left the home, in their order. */
  left(): Left[]
  /** Runs the commands together and settles when all have ended. Throws Stuck if one does not end. */
  run(planned: Planned[]): Promise<Told[]>
  /** The current time by the host's clock, right or wrong. */
  now(): number
  /** Sets the clock, if the host can. */
  jump(ms: number): void
  powerCut(): void
  /** Process ids of programs that outlived their turns. */
  leftBehind(): number[]
}

export const noCounts = (): Counts => ({
  commands: 0,
  kills: 0,
  powerCuts: 0,
  faults: 0,
  signals: 0,
  clockJumps: 0,
})
