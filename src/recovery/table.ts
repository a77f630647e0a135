/**
 * The recovery table (docs/recovery.md): the state of the log when its holder is gone, and the action of recovery. The
 * comment of each row names the crash that leads to it. A run's phase gives its row; a phase without a row does not compile.
 */

import type { ClockReading } from '../host/identity.js'
import type { RECOVERY_ROWS } from '../schema/words.js'
import type { Run, State } from '../session/state.js'
import { waitIsGood } from '../session/status.js'

export type Row = (typeof RECOVERY_ROWS)[number]

/**
 * - `none`: do nothing.
 * - `go_on`: take the next step of the turn, which the log gives.
 * - `settle_tools`: first record results for the tools that were started.
 * - `close`: the reply is recorded; end the run.
 * - `keep`: leave the run waiting.
 * - `expire`: end the run, because its wait can no longer be answered.
 * - `inspect`: ask the program's own store how the turn ended.
 */
export type Action = 'none' | 'go_on' | 'settle_tools' | 'close' | 'keep' | 'expire' | 'inspect'

export const RECOVERY_TABLE: Record<Row, { found: string; action: Action }> = {
  // No run, or the latest has ended.
  A: { found: 'no open run', action: 'none' },
  // A kill after spawn with a prompt, or between the start of an agent's turn and its program's.
  B: { found: 'run started, provider not yet asked', action: 'go_on' },
  // A kill in mid-inference. Inference is repeatable.
  C: { found: 'model asked, no response', action: 'go_on' },
  // A kill after a response was stored and before its first tool started, or between a deferral and its wait. Some of the calls
  // may already have results.
  D: { found: 'response with tool calls, no tool started', action: 'go_on' },
  // A kill between the start of a tool and its result: outcome unknown.
  E: { found: 'tool started, no result', action: 'settle_tools' },
  // A kill between the last result and the next request.
  F: { found: 'all results there, model not asked again', action: 'go_on' },
  // A kill between an agent's reply and the end of its run.
  G: { found: 'final response there, run not closed', action: 'close' },
  // The process of a parked run has exited by design.
  H: { found: 'waiting, token good', action: 'keep' },
  H2: { found: 'waiting for a time', action: 'keep' },
  // The deadline passed without an answer, or the token was lost with its record.
  I: { found: 'waiting, token bad or deadline passed', action: 'expire' },
  // A kill while an agent program ran. Only the program's own store shows how the turn ended.
  J: { found: 'agent provider in flight', action: 'inspect' },
}

/**
 * Where a program of a dead turn is, and what recovery does about it:
 *
 * - `kill`: kill its processes, then settle the row of the run.
 * - `none`: it is dead.
 * - `outlive`: wait until the margin after the end of its lease is over; then it is `ended`.
 * - `leave`: the turn stays interrupted until the host of the program, or a person, says that it is dead.
 */
export const PROGRAM_TABLE = {
  // The death of substrat alone, also together with its leash.
  here: { found: 'under this kernel, in this pid namespace', action: 'kill' },
  // A restart of the machine, or a declaration by a person.
  past: {
    found: 'on this machine before its restart, or on a host that a person declared gone',
    action: 'none',
  },
  // The death or the isolation of another host, or of a container. Its lease has just ended.
  leashed: {
    found: 'out of sight, on a leash whose lease is over for less than the margin',
    action: 'outlive',
  },
  // The same, later.
  ended: { found: 'out of sight, on a leash whose lease is over for the margin', action: 'none' },
  // The same, without a complete leash, or with the setting `recovery.takeover` off.
  elsewhere: { found: 'on another host, without such a leash', action: 'leave' },
  foreign: { found: 'in another pid namespace of this kernel, without such a leash', action: 'leave' },
} as const satisfies Record<string, { found: string; action: 'kill' | 'none' | 'outlive' | 'leave' }>

export type ProgramRow = keyof typeof PROGRAM_TABLE

/** Call it with the agent's lock held: an open run then has no living holder. */
export function rowOf(state: State, now: ClockReading): Row {
  const { run } = state
  if (run?.status !== 'open') return 'A'
  if (run.wait !== null)
    return waitIsGood(state, run.wait, now) ? (run.wait.kind === 'not_before' ? 'H2' : 'H') : 'I'
  return run.phase === 'calling' ? rowOfCalls(run) : ROW_OF_PHASE[run.phase]
}

const ROW_OF_PHASE: Record<Exclude<Run['phase'], 'calling'>, Row> = {
  started: 'B',
  asked: 'C',
  launched: 'J',
  answered: 'G',
}

function rowOfCalls({ calls }: Run): Row {
  if (calls.some(({ status }) => status === 'started')) return 'E'
  return calls.every(({ status }) => status === 'finished') ? 'F' : 'D'
}
