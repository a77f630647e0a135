/**
 * A scenario of the crash tests: a home, a command on it, and the promises that hold after any crash of that command.
 */
import type { HomeView } from '../support/home-view.js'
import type { Broken } from '../support/promises.js'
import type { Answer, Facts, LabName, Stage } from './stage.js'

/** The output of the command before its crash. */
export interface Told extends Answer {
  /** A kill ends only the command. A power cut also ends the processes next to it. */
  lab: LabName
  /** Recovery, or the next command, has run since. The output must still be true, except for what these change. */
  isLater?: boolean
}

/** The arguments. They may depend on the prepared home, or on the command's output. */
export type Words = string[] | ((facts: Facts, told?: Told) => string[])

export interface Act {
  argv: Words
  /** `crashes` is 2 if recovery crashed as well. */
  check(ended: Answer, told: Told, crashes: number): Broken
}

export interface Scenario {
  /** Begins with the name of its command. */
  name: string
  /** The labs that leave it out, each with the reason. `postgres`: the kill sweep of homes in PostgreSQL. */
  not?: Partial<Record<LabName | 'postgres', string>>
  argv: Words
  env?: Record<string, string> | ((root: string) => Record<string, string>)
  /** Prepares the home that each run starts from. Does nothing if the command itself creates the home. */
  prepare(stage: Stage): Promise<Facts | undefined>
  /** Starts the concurrent work. The returned function waits for it, after the command has ended. */
  meanwhile?(stage: Stage): Promise<() => Promise<unknown>>
  /**
   * A second command that begins with the same home. The power-cut lab alternates the disk steps of both, as if two processes
   * ran side by side: the other one writes between the write and the fsync of each. They must not touch the same files.
   */
  beside?: Words
  /**
   * Set if tools or an agent program are started. `short` ones end by themselves, and the lab waits for them before it
   * reads the home. `long` ones still run when the next command comes.
   */
  programs?: 'short' | 'long'
  /** The exit status of the command without a crash; 0 by default. */
  exit?: number | number[]
  /** The output of the command is true. */
  checkAcknowledged(told: Told, home: HomeView): Broken
  /** The next command, which does not know of the crash. */
  next: Act
  /** Exit statuses of `recover --all` besides 0 and 6: 5 or 7 if it leaves a turn waiting. */
  recoverExits?: number[]
  /** Commands of the operator, or of cron, after the next command and `recover --all`, in either order. */
  afterwards?: Act[]
  /** The names of agents that it removes with their logs. */
  removes?: string[]
  /** Holds after all of these have run. */
  finally(home: HomeView, told: Told): Broken
  /** The home is damaged until the next command has repaired it. Only then the rest of the contract holds. */
  isDamaged?: boolean
  /** Restores what a copy of the home's bytes lacks: modes and times. */
  restore?(home: string, facts: Facts): void
  /** Holds at any time, even for a damaged home. */
  always?(home: string, facts: Facts): Broken
  kill?: KillExtras
  faults?: FaultExtras
}

interface KillExtras {
  /** System calls that are kill points, in addition to those that change something. */
  syscalls?: string[]
  /** Only the points of a moment named in stress/kill/named.ts. */
  isMomentOnly?: boolean
}

export interface FaultExtras {
  /** Handles several agents one after the other, so a fault may leave only some of them done. */
  isForEach?: boolean
  /** The command is also killed before each of its steps. */
  isKilled?: boolean
  /** Lines of the view that a fault may add: if an answer came too late to wait for, it comes as a message. */
  later?: RegExp
}

export function wordsOf(words: Words, facts: Facts, told?: Told): string[] {
  return typeof words === 'function' ? words(facts, told) : words
}

export function envOf({ env = {} }: Scenario, root: string): Record<string, string> {
  return typeof env === 'function' ? env(root) : env
}

/** The scenarios, without the kill sweep of homes in PostgreSQL. */
export function onlyInFiles(reason: string, scenarios: Scenario[]): Scenario[] {
  return scenarios.map((scenario) => ({ ...scenario, not: { ...scenario.not, postgres: reason } }))
}
