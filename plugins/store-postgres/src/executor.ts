import type { Answer, Statement } from './protocol.js'

/** Executes statements, one at a time, for a caller that blocks until the answer is there. */
export interface Executor {
  /** Sends the statement. */
  begin(statement: Statement): void
  /** The answer of the statement that was begun last. Called once for each. */
  answer(): Answer
}
