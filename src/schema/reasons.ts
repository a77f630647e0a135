/**
 * Why a turn did not complete, in words: for results, transcripts, mail and the page. The log has the full cause with its stack.
 * Programs and the page load this module; it must stay free of zod.
 */
import type { CANCELLATIONS, FailureType, Interruption } from './words.js'

type StopReason = Interruption | (typeof CANCELLATIONS)[number]

/** A clause that ends a sentence. The provider's own message comes last, for readers who know the provider. */
export function causeOf({ type, message }: { type: FailureType; message: string }): string {
  const what = WHAT[type]
  return what === undefined ? message : `${what}: ${message}`
}

/** For other types the provider's message is enough. */
const WHAT: Partial<Record<FailureType, string>> = {
  unreachable: 'the connection to its AI provider failed',
  overloaded: 'its AI provider is too busy to answer',
  server_error: 'its AI provider failed',
  billing: 'its AI provider reports a billing problem',
  rate_limit: 'its AI provider limits the rate of requests',
  timeout: 'its AI provider did not answer in time',
  authentication: 'its AI provider rejected the credentials',
  misconfigured: 'its provider is misconfigured',
  overflow: 'the conversation is too long for its AI model',
  refused: 'its AI model refused to answer',
  invalid: 'its AI provider rejected the request',
  invalid_response: 'its AI provider sent an invalid answer',
}

export const WHY_STOPPED: Record<StopReason, string> = {
  process_exit: 'its process died',
  process_restart: 'the machine was restarted',
  program_killed: 'its agent program was killed',
  shutdown: 'a signal stopped it',
  suspended: 'another command suspended it',
  turn_timeout: 'it exceeded its time limit',
  terminated: 'the agent was terminated',
  cancelled: 'another command cancelled it',
  superseded: 'a new message superseded it',
  copied: 'the agent was copied while the turn was open',
  moved: 'the agent was moved to another home',
  log_damaged: 'the log was damaged, and the outcome of the turn is lost',
  unknown_tool: 'a tool call was interrupted, and its outcome is unknown',
  other_host: 'one of its programs may still be running on another host',
  program_alive: 'one of its programs may still be running and cannot be killed',
  wait_timeout: 'no approval, answer or result came before the deadline',
}
