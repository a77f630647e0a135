/**
 * How the programs of a turn have ended that substrat did not end: whether a signal from outside has killed one.
 *
 * Invariant: a program counts as killed only where it had exited before `kill` was called on it.
 */
import { constants } from 'node:os'
import type { LaunchedProgram } from './contract.js'

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

/** What a shell adds to the number of the signal that has killed the program which it ran. */
const BY_SIGNAL = 128

/** The name of the signal that a program died of, itself or under the shell that ran it; undefined where it has exited. */
export function killerOf({ code, signal }: Exit): string | undefined {
  return signal ?? (code === null ? undefined : FATAL.get(code - BY_SIGNAL))
}

export class Deaths {
  /** The signal that has killed a program of the turn. */
  killer: string | undefined

  /** The same program, of which it is known from now on who ended it. */
  watch<P extends Pick<LaunchedProgram, 'exited' | 'kill'>>(program: P): P {
    let isOurs = false
    void program.exited.then((exit) => {
      if (!isOurs) this.killer ??= killerOf(exit)
    })
    const kill = (graceMs: number): Promise<void> => {
      isOurs = true
      return program.kill(graceMs)
    }
    return { ...program, kill }
  }
}
