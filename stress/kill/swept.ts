/** The options and the results of the kill sweep. */

import type { Order } from '../scenarios/contract.js'
import type { Scenario } from '../scenarios/scenario.js'
import type { Facts } from '../scenarios/stage.js'
import type { HomeView } from '../support/home-view.js'
import type { Ground } from './ground.js'
import type { ProcessStage } from './process-stage.js'
import type { Command, KillPoint } from './strace.js'

export interface SweepOptions {
  /** Tries every k-th point; 1 for all. */
  every: number
  /** Only calls of these kinds. */
  syscalls?: string[] | undefined
  /** Sweeps recovery from every k-th state that the kills left; 0 for none. */
  nestedEvery: number
  /** Kills recovery only before calls of these kinds. */
  nestedSyscalls?: string[] | undefined
  /** Whether to continue after every kill, even if another kill left the same state. */
  isUnmerged?: boolean
  /** Whether to stop at the first violation. Used with a broken program that must be caught. */
  stops?: boolean
  /** The number of parallel runs. */
  jobs: number
  /** The one point to replay. */
  point?: Pick<KillPoint, 'syscall' | 'n'> | undefined
  nestedPoint?: Pick<KillPoint, 'syscall' | 'n'> | undefined
  /** Leaves the homes in the lab. */
  keep?: boolean
}

export interface Violation {
  scenario: string
  point: KillPoint
  /** The later kill inside recovery, if any. */
  nested: KillPoint | undefined
  order: Order | undefined
  broken: string
}

export interface ScenarioReport {
  scenario: string
  points: number
  /** Runs that a kill ended. The other runs made fewer calls than the recorded one. */
  killed: number
  /** The number of distinct states that the kills left. Each is continued in both orders. */
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
  command: Command
}

/** The data that all points of a scenario share. */
export interface Sweep {
  ground: Ground
  template: Template
  /** The home that each run starts from. */
  before: HomeView
  /** Ids that are the same in all runs. */
  known: Set<string>
  options: SweepOptions
  report: ScenarioReport
  /** The states that were continued, by digest. */
  seen: Set<string>
}
