/**
 * The expected effect of each signal on substrat, and on a program with default handlers.
 *
 * Signals that stop a process (STOP, TSTP, TTIN, TTOU) end no turn: the turn continues after CONT. The lab of the real
 * programs covers some of them. Signals 32 and 33 belong to the C library, and `kill -l` does not list them.
 */
import { constants } from 'node:os'

/** `asks`: the turn may finish within the grace period. `none`: no effect. `stops`: until CONT. */
type Effect = 'asks' | 'dies' | 'none' | 'stops'

export interface SignalEffects {
  number: number
  name: string
  substrat: Effect
  program: Effect
}

const ASKS = ['SIGHUP', 'SIGINT', 'SIGTERM']
const STOPS = ['SIGSTOP', 'SIGTSTP', 'SIGTTIN', 'SIGTTOU']
const HARMLESS = ['SIGCHLD', 'SIGCONT', 'SIGURG', 'SIGWINCH']
/** Node ignores PIPE and XFSZ. substrat handles USR1, which would open Node's inspector. */
const IGNORED_BY_NODE = ['SIGPIPE', 'SIGXFSZ', 'SIGUSR1']
const NAMED_MAX = 31
const [REAL_TIME_MIN, REAL_TIME_MAX] = [34, 64]

/** All signals of `kill -l`, by number. */
export function signalEffects(): SignalEffects[] {
  const names = new Map(Object.entries(constants.signals).map(([name, number]) => [number, name]))
  const named = Array.from({ length: NAMED_MAX }, (_, index) => index + 1).map((number) => {
    const name = usualName(names.get(number) ?? `SIG${number}`)
    return { number, name, substrat: effectOnSubstrat(name), program: effectOnProgram(name) }
  })
  const realTime = Array.from({ length: REAL_TIME_MAX - REAL_TIME_MIN + 1 }, (_, index) => {
    const number = REAL_TIME_MIN + index
    // The start barrier ignores them.
    return { number, name: `signal ${number}`, substrat: 'dies' as const, program: 'none' as const }
  })
  return [...named, ...realTime]
}

function usualName(name: string): string {
  return { SIGIOT: 'SIGABRT', SIGPOLL: 'SIGIO', SIGUNUSED: 'SIGSYS' }[name] ?? name
}

function effectOnSubstrat(name: string): Effect {
  if (ASKS.includes(name)) return 'asks'
  if (STOPS.includes(name)) return 'stops'
  return [...HARMLESS, ...IGNORED_BY_NODE].includes(name) ? 'none' : 'dies'
}

function effectOnProgram(name: string): Effect {
  if (STOPS.includes(name)) return 'stops'
  return HARMLESS.includes(name) ? 'none' : 'dies'
}
