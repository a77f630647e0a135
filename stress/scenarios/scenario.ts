/** A situation of the crash tests: a home, a command on it, and what holds whatever happens to that command. */
import type { HomeView } from '../support/home-view.js'
import type { Broken } from '../support/promises.js'
import type { Answer, Facts, LabName, Stage } from './stage.js'

/** What the command that met the crash had printed by then. */
export interface Told extends Answer {
  /** A kill ends the command alone, a power cut also what goes on beside it. */
  lab: LabName
  /** Recovery, or the next command, has run since: what was told must still be true, but for what these change. */
  isLater?: boolean
}

/** Arguments, also where they depend on the prepared home, or on what the command had printed. */
export type Words = string[] | ((facts: Facts, told?: Told) => string[])

export interface Act {
  argv: Words
  /** `crashes`: 2 where recovery had a crash of its own. */
  check(ended: Answer, told: Told, crashes: number): Broken
}

export interface Scenario {
  /** The word of its command comes first. */
  name: string
  /** Labs that leave it out, each with the reason. */
  not?: Partial<Record<LabName, string>>
  argv: Words
  env?: Record<string, string> | ((root: string) => Record<string, string>)
  /** Makes the home that each run starts from; nothing, where the command itself shall make it. */
  prepare(stage: Stage): Promise<Facts | undefined>
  /** Starts what goes on beside the command. The result waits for that, once the command has ended. */
  meanwhile?(stage: Stage): Promise<() => Promise<unknown>>
  /**
   * Tools or an agent's program are started: `short` ones end by themselves, and are waited for before the home is read;
   * `long` ones still run when the next command comes.
   */
  programs?: 'short' | 'long'
  /** Exit of the command without a crash; 0 by default. */
  exit?: number | number[]
  /** What the command had printed is true. */
  acknowledged(told: Told, home: HomeView): Broken
  /** The command that comes next, and does not know of the crash. */
  next: Act
  /** Exits of `recover --all` besides 0 and 6: 5 or 7 where it leaves a turn waiting. */
  recoverExits?: number[]
  /** What a person, or cron, does when the next command and `recover --all` have run, in either order. */
  afterwards?: Act[]
  /** Names of agents that it takes away with their logs. */
  removes?: string[]
  /** Holds when all of these have run. */
  finally(home: HomeView, told: Told): Broken
  /** The home is damaged until the next command has mended it: only then the rest of the contract holds. */
  isDamaged?: boolean
  /** Puts back what a copy of the home's bytes lacks: modes and times. */
  restored?(home: string, facts: Facts): void
  /** Holds at any time, also of a home that is damaged. */
  always?(home: string, facts: Facts): Broken
  kill?: KillExtras
  faults?: FaultExtras
}

interface KillExtras {
  /** Calls that are kill points besides those that change something. */
  syscalls?: string[]
  /** Only the points of a moment that stress/kill/named.ts names. */
  isMomentOnly?: boolean
}

export interface FaultExtras {
  /** It is about several agents, one after the other: a fault may leave it done for some of them. */
  isForEach?: boolean
  /** The command is also killed before each of its steps. */
  isKilled?: boolean
  /** Lines of the view that a fault may add: an answer that could not be waited for comes as a message. */
  later?: RegExp
}

export function wordsOf(words: Words, facts: Facts, told?: Told): string[] {
  return typeof words === 'function' ? words(facts, told) : words
}

export function envOf({ env = {} }: Scenario, root: string): Record<string, string> {
  return typeof env === 'function' ? env(root) : env
}
