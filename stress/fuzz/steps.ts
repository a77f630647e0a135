/** What a sequence consists of: commands at places of the tree, what happens to them, and what happens to the machine. */
import type { Place } from './places.js'
import type { Program } from './program.js'

type Decision = 'approve' | 'deny' | 'input' | 'result'

export type Action =
  | { do: 'spawn'; at: Place; prompt: Program | null; ifExists: 'fail' | 'use' }
  | {
      do: 'send'
      at: Place
      how: 'direct' | 'queue' | 'notification' | 'later' | 'from_parent' | 'from_sibling'
      drains: boolean
      program: Program
      /** The key of an earlier message is a repetition of that. */
      key: 'none' | 'new' | 'again'
      ifWaiting: 'supersede' | 'fail' | 'queue'
      turnTimeout: boolean
    }
  | {
      do: 'decide'
      at: Place
      decision: Decision
      by: 'token' | 'machine' | 'old' | 'foreign' | 'forged' | 'malformed'
    }
  | { do: 'rotate' | 'resume' | 'retry' | 'ungate' | 'gate'; at: Place }
  | { do: 'suspend'; at: Place; hold: boolean }
  | { do: 'cancel' | 'terminate' | 'remove'; at: Place; recursive: boolean }
  | { do: 'fork'; at: Place }
  | { do: 'set'; at: Place }
  | { do: 'deliver'; at: Place | null }
  | { do: 'recover'; continues: 'roots' | 'all' | 'none' }
  | { do: 'wait'; at: Place[] }
  | { do: 'prune' }
  | { do: 'look'; with: 'show' | 'list' | 'tree' | 'log' | 'inbox'; at: Place }

/** What happens to a command. `at` counts its changing steps on the disk. */
export type Harm =
  | { harm: 'kill'; at: number }
  /** Among its steps that persist, by their share of those that such a command usually takes; before or after that step. */
  | { harm: 'kill_persisting'; sharePercent: number; isAfter: boolean }
  | { harm: 'kill_later'; ms: number }
  | { harm: 'cut'; at: number }
  | { harm: 'fault'; at: number; errno: 'ENOSPC' | 'EIO' | 'EDQUOT' }
  | { harm: 'short_write'; at: number }
  | { harm: 'signal'; ms: number; name: 'SIGTERM' | 'SIGINT' }

export interface Command {
  action: Action
  harm: Harm | null
  /** Of several together, how long after the first. */
  startMs: number
}

export type Step =
  | {
      kind: 'commands'
      commands: Command[]
      /** What happens to the recoveries after it. */
      recoveryHarms: Harm[]
      /** How far the clock is off while these run; it is right again behind them. */
      clockOffMs: number
    }
  | { kind: 'clock'; ms: number }
  | { kind: 'cut' }

export interface Sequence {
  /** Of ids, delays and what a power cut keeps. */
  salt: number
  /** Whether a home that nothing happens to must come to the same. Else commands may race that cannot both win. */
  hasTwin: boolean
  steps: Step[]
}
