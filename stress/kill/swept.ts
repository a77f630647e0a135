/** What the kill sweep is asked for, and what it finds. */

import type { Order } from '../scenarios/contract.js'
import type { Scenario } from '../scenarios/scenario.js'
import type { Facts } from '../scenarios/stage.js'
import type { Lab } from '../support/lab.js'
import type { ProcessStage } from './process-stage.js'
import type { Command, KillPoint } from './strace.js'

export interface SweepOptions {
  /** Every k-th point; 1 for all. */
  every: number
  /** Only calls of these kinds. */
  syscalls?: string[] | undefined
  /** Recovery is swept from every k-th of the states that those kills left; 0 for never. */
  nestedEvery: number
  /** Recovery is killed only before calls of these kinds. */
  nestedSyscalls?: string[] | undefined
  /** Whether every kill is gone on with, also one that left what another has left. */
  isUnmerged?: boolean
  /** Whether the first violation is enough: for a program that is broken, and must be caught. */
  stops?: boolean
  /** How many runs at once. */
  jobs: number
  /** Only this one, to replay a violation. */
  point?: Pick<KillPoint, 'syscall' | 'n'> | undefined
  nestedPoint?: Pick<KillPoint, 'syscall' | 'n'> | undefined
  /** Leaves the homes in the lab. */
  keep?: boolean
}

export interface Violation {
  scenario: string
  point: KillPoint
  /** Where recovery was killed after that. */
  nested: KillPoint | undefined
  order: Order | undefined
  broken: string
}

export interface ScenarioReport {
  scenario: string
  points: number
  /** Runs that a kill ended; the others made fewer calls than the recorded one. */
  killed: number
  /** What those kills left, in kinds: each is gone on with in both orders. */
  states: number
  nestedPoints: number
  nestedKilled: number
  nestedStates: number
  bySyscall: Record<string, number>
  /** Kills at the named moments (named.ts). */
  named: Record<string, number>
  violations: Violation[]
  seconds: number
}

/** A scenario with the home that each run starts from. */
export interface Template {
  scenario: Scenario
  stage: ProcessStage
  facts: Facts
  /** Its command. */
  command: Command
}

/** What the points of a scenario share. */
export interface Sweep {
  lab: Lab
  template: Template
  /** Ids that are the same in all runs. */
  known: Set<string>
  options: SweepOptions
  report: ScenarioReport
  /** The states that were gone on with, by their digest. */
  seen: Set<string>
}
