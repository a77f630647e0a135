/**
 * How the programs of a turn have ended that substrat did not end: whether a signal from outside has killed one.
 *
 * Invariant: a program counts as killed only where it had exited before `kill` was called on it.
 */
import { constants } from 'node:os'
import type { LaunchedProgram } from './host-contract.js'

type Exit = Awaited<LaunchedProgram['exited']>

/** They stop or continue a process, or are ignored, where the process does not say otherwise. */
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
    // The first name of a number is the usual one: SIGABRT before SIGIOT.
    .reverse()
    .map(([name, number]) => [number, name]),
)

/** Real-time signals, which Node has no names for. */
const [REAL_TIME_MIN, REAL_TIME_MAX] = [34, 64]
for (let number = REAL_TIME_MIN; number <= REAL_TIME_MAX; number++) FATAL.set(number, `signal ${number}`)

/** What a shell adds to the number of the signal that has killed the program which it ran. */
const BY_SIGNAL = 128

/**
 * The name of the signal that a program died of, itself or under the shell that ran it; undefined where it has exited.
 * A program that exits by itself with such a number (git with 129 for a wrong option) cannot be told from one that was
 * killed under a shell. An agent's turn is taken for interrupted then, and goes on; a tool only waits for a stop signal
 * that may be on its way, and else has its result as it is.
 */
export function fatalSignalOf({ code, signal }: Exit): string | undefined {
  return signal ?? (code === null ? undefined : FATAL.get(code - BY_SIGNAL))
}

export class Deaths {
  /** The signal that has killed a program of the turn. */
  killer: string | undefined

  /** The same program, of which it is known from now on who ended it. */
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
