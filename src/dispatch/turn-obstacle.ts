/**
 * Whether an agent may take a turn, and if not, why, and what a person can do next. Every command and tool asks this
 * function.
 *
 * It is pure: it reads the state, and the clock where a turn waits for a time. The reasons that belong to a command are
 * not here: a stop signal, its budget, the lock of the agent.
 */
import { shellWord } from '../errors.js'
import { readClock } from '../host/identity.js'
import type { State, Wait } from '../session/state.js'
import { isBesideProgram, isDue, isExhausted, openWait } from '../session/status.js'

/**
 * `mail`: a turn of its own for a pending message. `message`: one for a message that a person sends now.
 * `continuation`: the latest turn, continued by a command that was not asked to. `poke`: the same, because the parent
 * asked. `resume`: because a person asked.
 */
export type TurnKind = 'mail' | 'message' | 'continuation' | 'poke' | 'resume'

/** `next`: the command that a person runs; null where none helps. */
export type Obstacle =
  | { kind: 'terminated'; next: null }
  /** The latest turn is parked: for a decision or an answer, or for a time. */
  | { kind: 'wait'; wait: Wait; next: string }
  /** Commands continued the latest turn as often as they do without being asked. */
  | { kind: 'exhausted'; next: string }
  | Closure
  /** A program of the latest turn may still run. */
  | { kind: 'program'; next: string }

/** A person, or its parent, closed the agent to turns. Other files put these words into their sentences. */
export interface Closure {
  kind: 'hold' | 'gate'
  code: 'ON_HOLD' | 'GATED'
  /** The agent is … */
  is: string
  /** … until you … it. */
  until: string
  next: string
}

/** Where there are several, the one that a person removes first. Undefined: the agent may take the turn. */
export function turnObstacle(state: State, turn: TurnKind, now = readClock): Obstacle | undefined {
  if (state.state === 'terminated') return { kind: 'terminated', next: null }
  const word = shellWord(state.path)
  const resume = `substrat resume ${word}`
  const wait = openWait(state)
  // Mail has its turn after the one that is parked, also where that may be continued by now.
  if (wait !== null && turn !== 'message' && (turn === 'mail' || !isDue(wait, now())))
    return { kind: 'wait', wait, next: nextOfWait(wait, word) }
  if (turn === 'continuation' && isExhausted(state)) return { kind: 'exhausted', next: resume }
  if (turn === 'resume') return undefined
  if (state.hold) return { kind: 'hold', code: 'ON_HOLD', is: 'on hold', until: 'resume', next: resume }
  if (isGatedShut(state))
    return { kind: 'gate', code: 'GATED', is: 'gated', until: 'ungate', next: `substrat ungate ${word}` }
  return turn === 'mail' && isBesideProgram(state) ? { kind: 'program', next: resume } : undefined
}

/** A gated agent takes a turn only for each permit. */
function isGatedShut({ gate }: State): boolean {
  return gate.isGated && gate.permits === 0
}

function nextOfWait({ kind }: Wait, word: string): string {
  if (kind === 'not_before') return `substrat resume ${word}`
  return kind === 'input' ? answerCommand(word) : `substrat approve ${word}`
}

/** What a person at the machine runs about what is waited for: each of them is taken, whoever asks. */
export function decisionCommands(word: string, { kind }: Wait): string {
  return kind === 'input' ? answerCommand(word) : `substrat approve ${word}, or substrat deny ${word}`
}

/** A person at the machine has no token, and gets one by rotation. */
function answerCommand(word: string): string {
  return `substrat token rotate ${word} | substrat resume ${word} --token - --input '…'`
}
