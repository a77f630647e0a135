/** The ways to strike a turn in its middle: signals, their targets, and how the command then ends. */
import type { Random } from '../../../test/support/random.js'

/** `program`: the agent program alone, like the OOM killer. `group`: the program with everything that it started. */
export type Target = 'substrat' | 'program' | 'group' | 'all'

export interface Strike {
  signal: NodeJS.Signals
  to: Target
}

export interface Mode {
  name: string
  strikes(random: Random): Strike[]
  /** The end of a turn whose program is stopped; by default the strikes do. */
  endedBy?: 'cancel' | 'timeout'
  /** The allowed exit statuses of the struck command; null if an uncatchable signal, such as SIGKILL, ends it. */
  exits: (number | null)[]
}

const KILLED = [null]
/** Signals that the documentation does not list: the command survives them, or dies as in a crash. */
const OTHERS: NodeJS.Signals[] = [
  'SIGQUIT',
  'SIGUSR1',
  'SIGUSR2',
  'SIGPIPE',
  'SIGALRM',
  'SIGXCPU',
  'SIGWINCH',
  'SIGTSTP',
  'SIGSTOP',
]
const STOPPING = ['SIGTSTP', 'SIGSTOP']

/** A program that dies may have completed its turn: 0. Otherwise the turn is interrupted. */
export const MODES: Mode[] = [
  { name: 'substrat', strikes: always({ signal: 'SIGKILL', to: 'substrat' }), exits: KILLED },
  { name: 'everything', strikes: always({ signal: 'SIGKILL', to: 'all' }), exits: KILLED },
  { name: 'program', strikes: always({ signal: 'SIGKILL', to: 'program' }), exits: [0, 6] },
  {
    name: 'stopped then killed',
    strikes: always({ signal: 'SIGSTOP', to: 'group' }, { signal: 'SIGKILL', to: 'substrat' }),
    exits: KILLED,
  },
  {
    name: 'stopped then cancelled',
    strikes: always({ signal: 'SIGSTOP', to: 'group' }),
    endedBy: 'cancel',
    exits: [14],
  },
  {
    name: 'stopped until timeout',
    strikes: always({ signal: 'SIGSTOP', to: 'group' }),
    endedBy: 'timeout',
    exits: [12],
  },
  { name: 'SIGTERM to all', strikes: always({ signal: 'SIGTERM', to: 'all' }), exits: [0, 6, 143] },
  { name: 'SIGHUP to all', strikes: always({ signal: 'SIGHUP', to: 'all' }), exits: [0, 6, 129] },
  { name: 'SIGINT to all', strikes: always({ signal: 'SIGINT', to: 'all' }), exits: [0, 6, 130] },
  { name: 'other signals', strikes: another, exits: [null, 0, 6] },
]

function always(...strikes: Strike[]): () => Strike[] {
  return () => strikes
}

function another(random: Random): Strike[] {
  const signal = random.pick(OTHERS)
  const to = random.pick<Target>(['substrat', 'program', 'group', 'all'])
  return STOPPING.includes(signal)
    ? [
        { signal, to },
        { signal: 'SIGCONT', to },
      ]
    : [{ signal, to }]
}
