/** The exit statuses that `substrat help exit-codes` and docs/errors.md list. */
export const EXIT_MEANINGS: ReadonlyMap<number, string> = new Map([
  [0, 'success'],
  [1, 'internal error: a bug in substrat'],
  [2, 'invalid usage or an invalid setting'],
  [3, 'no such agent, provider, token or message'],
  [4, 'busy: another process runs the agent, or slots_max calls are running'],
  [5, 'waiting for a decision: answer, approve, deny or resume'],
  [6, 'interrupted: resume continues the turn'],
  [7, 'rate limited: run resume after the limit resets'],
  [8, 'the provider is misconfigured or not logged in'],
  [9, 'the turn failed with an error of the provider'],
  [10, 'stored data is damaged, or written by a newer version'],
  [11, 'the home (~/.substrat) or stdout cannot be written, or the disk fails'],
  [12, 'the turn or the wait exceeded its time limit'],
  [13, "refused: the agent's state does not allow this command"],
  [14, 'the turn was cancelled by another command'],
  [15, 'fsync failed and the outcome is unknown: follow the hint'],
  [129, 'stopped by SIGHUP; the turn is interrupted'],
  [130, 'stopped by SIGINT; the turn is interrupted'],
  [143, 'stopped by SIGTERM; the turn is interrupted'],
])

/** Of several agents: first the stop of the command, then states that nothing repairs alone, then failures, then requests. */
const WORST_FIRST = [143, 130, 129, 1, 15, 11, 10, 3, 8, 9, 14, 12, 6, 4, 13, 5, 7]

/** Undefined if all succeeded. A status that is not in the list is the worst. */
export function worstStatus(statuses: number[]): number | undefined {
  return statuses
    .filter((status) => status !== 0)
    .sort((a, b) => WORST_FIRST.indexOf(a) - WORST_FIRST.indexOf(b))[0]
}
