/** How a program ended: by itself, or by a signal, which a shell that ran it says as 128 and the signal's number. */
import { constants } from 'node:os'
import type { LaunchedProgram } from 'substrat/provider'

export type Exit = Awaited<LaunchedProgram['exited']>

/** Signals that end no process unless it says so. */
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
/** Real-time signals, which Node has no names for. */
const [REAL_TIME_MIN, REAL_TIME_MAX] = [34, 64]

/** The signal that killed it; undefined where it exited by itself. */
export function killerOf({ code, signal }: Exit): string | undefined {
  if (signal !== null) return signal
  const number = (code ?? 0) - BY_SIGNAL
  if (number >= REAL_TIME_MIN && number <= REAL_TIME_MAX) return `signal ${number}`
  return Object.entries(constants.signals).find(
    ([name, value]) => value === number && !HARMLESS.includes(name),
  )?.[0]
}

/** As the predicate of a sentence. */
export function wordsOfExit(exit: Exit): string {
  const killer = killerOf(exit)
  return killer === undefined ? `exited ${exit.code}` : `was killed by ${killer}`
}

/** Its exit follows the end of its output at once, unless only its output has ended. */
const EXIT_MS_MAX = 500
/** Where little else can have ended its output: a busy machine may take that long to end the process. */
export const SURE_EXIT_MS_MAX = 5000

/** Undefined where it goes on. */
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
