/** The parts of a sequence: commands at places of the tree, their faults, and the faults of the machine. */
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
      /** 'again' reuses the key of an earlier message: the same request. */
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
  | { do: 'schedule'; at: Place; overlap: 'skip' | 'queue'; missed: 'once' | 'skip' | 'all' }
  | { do: 'deliver'; at: Place | null }
  | { do: 'recover'; continues: 'roots' | 'all' | 'none' }
  | { do: 'wait'; at: Place[] }
  | { do: 'prune' }
  | { do: 'look'; with: 'show' | 'list' | 'tree' | 'log' | 'inbox'; at: Place }

/** The fault of one command. `at` counts its disk-changing steps. */
export type Harm =
  | { harm: 'kill'; at: number }
  /**
   * A kill before or after one of the persisting steps, chosen by its share of the number that such a command usually
   * takes.
   */
  | { harm: 'kill_persisting'; sharePercent: number; isAfter: boolean }
  | { harm: 'kill_later'; ms: number }
  | { harm: 'cut'; at: number }
  | { harm: 'fault'; at: number; errno: 'ENOSPC' | 'EIO' | 'EDQUOT' }
  | { harm: 'short_write'; at: number }
  | { harm: 'signal'; ms: number; name: 'SIGTERM' | 'SIGINT' }

export interface Command {
  action: Action
  harm: Harm | null
  /** The delay after the first of several parallel commands. */
  startMs: number
}

export type Step =
  | {
      kind: 'commands'
      commands: Command[]
      /** The faults of the recoveries that follow. */
      recoveryHarms: Harm[]
      /** The clock's error while these commands run. It is correct again afterwards. */
      clockOffMs: number
    }
  | { kind: 'clock'; ms: number }
  | { kind: 'cut' }

export interface Sequence {
  /** The seed for ids, delays and the effects of a power cut. */
  salt: number
  /** Whether a home without faults must reach the same state. Otherwise commands may race where only one can win. */
  hasTwin: boolean
  steps: Step[]
}
