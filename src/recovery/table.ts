/**
 * The recovery table (design section 7): what is found in the log when the holder is gone, and what is to be done. Each
 * row says how a crash gets there. A run's phase names its row; a phase without a row does not compile.
 */
import type { Run, State } from '../session/state.js'

export type Row = 'A' | 'B' | 'C' | 'G' | 'J'

/**
 * `none`: nothing is owed. `ask`: going on means asking the provider. `close`: the answer is there, the run is only not
 * closed. `inspect`: the program's own store knows more than we do.
 */
export type Action = 'none' | 'ask' | 'close' | 'inspect'

export const RECOVERY_TABLE: Record<Row, { found: string; action: Action }> = {
  // No run, or the latest is ended.
  A: { found: 'no open run', action: 'none' },
  // A kill after spawn with a prompt, or between the start of an agent's turn and its program's.
  B: { found: 'run started, provider not yet asked', action: 'ask' },
  // A kill in mid-inference. Inference is repeatable.
  C: { found: 'model asked, no response', action: 'ask' },
  // A kill between an agent's reply and the end of its run.
  G: { found: 'final response there, run not closed', action: 'close' },
  // A kill while an agent's program ran: only the program's own store can say how it ended.
  J: { found: 'agent provider in flight', action: 'inspect' },
}

const ROW_OF_PHASE: Record<Run['phase'], Row> = { started: 'B', asked: 'C', launched: 'J', answered: 'G' }

/** Call with the agent's lock held: an open run then has no living holder. */
export function diagnose(state: State): Row {
  return state.run?.status === 'open' ? ROW_OF_PHASE[state.run.phase] : 'A'
}
