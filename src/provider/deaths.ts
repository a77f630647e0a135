/**
 * Detects that a signal from outside substrat has killed a program of the turn.
 *
 * Invariant: a program counts as killed only if it had exited before `kill` was called on it.
 */
import { constants } from 'node:os'
import type { LaunchedProgram } from './host-contract.js'

type Exit = Awaited<LaunchedProgram['exited']>

/** Signals whose default action does not end a process. */
const HARMLESS = [
  'SIGCHLD',
  'SIGCLD',
  'SIGCONT',
  'SIGSTOP',
  'SIGTSTP',
  'SIGTTIN',
  'SIGTTOU',
  'SIGURG',
  'SIGWINCH',
]

const FATAL = new Map(
  Object.entries(constants.signals)
    .filter(([name]) => !HARMLESS.includes(name))
    // Of several names for one number, the first is the usual one: SIGABRT, not SIGIOT.
    .reverse()
    .map(([name, number]) => [number, name]),
)

/** The real-time signals. Node has no names for them. */
const [REAL_TIME_MIN, REAL_TIME_MAX] = [34, 64]
for (let number = REAL_TIME_MIN; number <= REAL_TIME_MAX; number++) FATAL.set(number, `signal ${number}`)

/** A shell exits with this plus the number of the signal that killed its program. */
const BY_SIGNAL = 128

/**
 * The name of the signal that killed a program, directly or under a shell. Undefined if the program exited by itself.
 *
 * A program that exits with such a number (git exits 129 for a wrong option) looks like one that was killed under a shell. An
 * agent's turn then counts as interrupted and is continued. A tool call only waits briefly for a stop signal to substrat, and
 * otherwise keeps its result.
 */
export function fatalSignalOf({ code, signal }: Exit): string | undefined {
  return signal ?? (code === null ? undefined : FATAL.get(code - BY_SIGNAL))
}

export class Deaths {
  /** The signal from outside that killed a program of the turn. */
  killer: string | undefined

  /** Returns the program with a `kill` that records that substrat ended it. */
  watch<P extends Pick<LaunchedProgram, 'exited' | 'kill'>>(program: P): P {
    let isOurs = false
    void program.exited.then((exit) => {
      if (!isOurs) this.killer ??= fatalSignalOf(exit)
    })
    const kill = (graceMs: number): Promise<void> => {
      isOurs = true
      return program.kill(graceMs)
    }
    return { ...program, kill }
  }
}
