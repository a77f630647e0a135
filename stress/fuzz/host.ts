/** Where the commands of a sequence run: within this process on the machine, or as real processes. */
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
  /** What was to happen to it did. */
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
  /** Runs them together; settles when all have ended. Throws Stuck where one does not. */
  run(planned: Planned[]): Promise<Told[]>
  /** By the clock as it is set. */
  now(): number
  /** Somebody sets the clock, where the host has one to set. */
  jump(ms: number): void
  powerCut(): void
  /** Programs that are left of turns that are no more. */
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
