/** What a scenario of the sweep is. */

import type { KillPoint } from '../kill/strace.js'
import type { HomeView } from '../support/home-view.js'
import type { Ended, Lab } from '../support/lab.js'
import type { Broken } from '../support/promises.js'

/** Of a command, where they depend on the home, or on what the killed command has told. */
export type Words = string[] | ((home: string, told?: Ended) => string[])

export interface Act {
  argv: Words
  check(ended: Ended, told: Ended, kills: number): Broken
}

export interface Scenario {
  /** As `--commands` names it; the word of its command comes first. */
  name: string
  argv: Words
  env?: Record<string, string> | ((lab: Lab) => Record<string, string>)
  /** Makes the home that each run starts from; nothing, where the command itself shall make it. Gives what ends it. */
  prepare(lab: Lab, home: string): Promise<(() => void) | undefined>
  /** What goes on meanwhile. The result is called when the command has ended, and waits for it. */
  meanwhile?(lab: Lab, home: string): Promise<() => Promise<void>>
  /** Besides the calls that change something: what its kill points are chosen from. */
  syscalls?: string[]
  points?(points: KillPoint[]): KillPoint[]
  /**
   * Tools or an agent's program are started: `short` ones end by themselves, and are waited for before anybody looks;
   * `long` ones are still there when the next command comes.
   */
  programs?: 'short' | 'long'
  /** How the command ends that nothing happens to; 0 where nothing is said. */
  exit?: number | number[]
  /** What the killed command told anybody is true. */
  acknowledged(told: Ended, home: HomeView): Broken
  /** The next command, which goes on without being told that something was killed. */
  next: Act
  /** How `recover --all` may exit besides 0 and 6: with 5 or 7 where a turn is to be left waiting. */
  recoverExits?: number[]
  /** What a person, or cron, does when the next command and `recover --all` have run, in either order. */
  afterwards?: Act[]
  /** Names of agents that it takes away with their logs. */
  removes?: string[]
  /** At the very end. */
  finally(home: HomeView, told: Ended): Broken
}

export function wordsOf(words: Words, home: string, told?: Ended): string[] {
  return typeof words === 'function' ? words(home, told) : words
}

export function envOf({ env = {} }: Scenario, lab: Lab): Record<string, string> {
  return typeof env === 'function' ? env(lab) : env
}
