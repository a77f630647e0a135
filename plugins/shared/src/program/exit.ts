/** Tells how a program ended: by itself, or by a signal, which a shell reports as 128 plus the signal's number. */
import { constants } from 'node:os'
import type { LaunchedProgram } from 'substrat/provider'

export type Exit = Awaited<LaunchedProgram['exited']>

/** Signals that do not end a process by default. */
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
const BY_SIGNAL = 128
/** Real-time signals have no names in Node. */
const [REAL_TIME_MIN, REAL_TIME_MAX] = [34, 64]

/** The signal that killed the program; undefined if it exited by itself. */
export function killerOf({ code, signal }: Exit): string | undefined {
  if (signal !== null) return signal
  const number = (code ?? 0) - BY_SIGNAL
  if (number >= REAL_TIME_MIN && number <= REAL_TIME_MAX) return `signal ${number}`
  return Object.entries(constants.signals).find(
    ([name, value]) => value === number && !HARMLESS.includes(name),
  )?.[0]
}

/** The exit as the predicate of a sentence. */
export function wordsOfExit(exit: Exit): string {
  const killer = killerOf(exit)
  return killer === undefined ? `exited ${exit.code}` : `was killed by ${killer}`
}

/** An exit follows the end of the output within this time, unless the program only closed its output. */
const EXIT_MS_MAX = 500
/** For when the program has almost certainly ended: a busy machine can take this long to report it. */
export const SURE_EXIT_MS_MAX = 5000

/** Undefined if the program is still running. */
export async function soonExited(exited: Promise<Exit>, withinMs = EXIT_MS_MAX): Promise<Exit | undefined> {
  let timer: NodeJS.Timeout | undefined
  const late = new Promise<undefined>((resolve) => {
    timer = setTimeout(resolve, withinMs, undefined)
  })
  try {
    return await Promise.race([exited, late])
  } finally {
    clearTimeout(timer)
  }
}
