/**
 * A model that answers with nothing: no text and no tool call. Such a turn fails as `empty`, so that a script does not take it for a
 * reply.
 *
 * Invariant: a turn that has called tools may end without a word. Its work is done, and models often end so.
 */
import type { FailureReport } from '../../provider/failure.js'
import { TOKENS_USED_UP } from '../../session/causes.js'
import type { Run } from '../../session/state.js'
import type { ModelAnswer } from './ask-model.js'

/** Undefined if the answer has something, or needs nothing. */
export function emptyAnswer(run: Run, answer: ModelAnswer): FailureReport | undefined {
  const { reply, calls, stop, incomplete, usage, model } = answer
  // A turn that continues another one may follow that one's calls.
  const hasWorked = run.steps > 0 || run.calls.length > 0 || run.continues !== null
  if (calls.length > 0 || reply.trim() !== '' || hasWorked) return undefined
  const message =
    stop === 'length'
      ? `${TOKENS_USED_UP}${usage === null ? '' : ` (${usage.output_tokens})`} before it wrote anything`
      : `the model answered with nothing: no text and no tool call${incomplete === undefined ? '' : ` (its end: ${incomplete})`}`
  return {
    error: { type: 'empty', message },
    retryAfterMs: null,
    ...(usage === null ? {} : { usage }),
    ...(model === undefined ? {} : { model }),
  }
}

/** A note to the user about a reply that may have no end. */
export function incompleteText(word: string): string {
  return word === 'length'
    ? 'the reply is incomplete: the model reached its maximum number of tokens per response'
    : `the reply may be incomplete: the provider ended it in an unknown way (${word})`
}
