/** Turns the end of a failed turn into a failure of the contract. */
import type { JsonObject, ProviderFailure } from 'substrat/provider'
import { endedEarly, type FailureType, failure, refusedAfter } from '../../shared/src/failure.js'
import { type Exit, killerOf, wordsOfExit } from '../../shared/src/program/exit.js'
import { failureOfText } from '../../shared/src/program/failure-text.js'
import { countOf, objectOf, textOf } from '../../shared/src/program/json.js'

/** Claude's names of API errors, in the `error` of a message. */
const TYPE_OF_ERROR: Record<string, FailureType> = {
  rate_limit: 'rate_limit',
  overloaded: 'overloaded',
  server_error: 'server_error',
  authentication_failed: 'authentication',
  oauth_org_not_allowed: 'authentication',
  billing_error: 'misconfigured',
  model_not_found: 'misconfigured',
}

const TYPE_OF_STATUS: Record<number, FailureType> = {
  401: 'authentication',
  402: 'misconfigured',
  403: 'authentication',
  408: 'timeout',
  413: 'overflow',
  429: 'rate_limit',
  503: 'overloaded',
  529: 'overloaded',
}

/** Hints about the cause of a failure, collected during the turn. */
export interface Signs {
  /** `error` of the latest message that claude wrote instead of the model. */
  error: string | undefined
  /** `rate_limit_info` of the latest `rate_limit_event`. */
  limit: JsonObject | undefined
  /** Claude has reported the start of the turn. */
  hasBegun: boolean
  /** Text of the model's latest message so far. */
  said: string
}

/** The failure for a `result` that is an error. */
export function failureOfResult(result: JsonObject, signs: Signs, now = Date.now()): ProviderFailure {
  const failed = failureByCause(result, signs, now)
  return failed.failure.type === 'refused' ? refusedAfter(signs.said, failed.message) : failed
}

function failureByCause(result: JsonObject, signs: Signs, now: number): ProviderFailure {
  if (result.subtype === 'error_max_budget_usd') {
    const failed = failure('crashed', 'claude stopped its turn at its limit in dollars, --max-budget-usd')
    failed.failure.budget_reached = true
    return failed
  }
  const said = wordsOf(result)
  const status = countOf(result.api_error_status)
  const byCode =
    TYPE_OF_ERROR[signs.error ?? ''] ?? TYPE_OF_STATUS[status] ?? (status >= 500 ? 'server_error' : undefined)
  const byWords = failureOfText(said, status >= 400 ? 'invalid' : 'crashed', now)
  const { retry_after_ms } = byWords.failure
  const type = endedBecause(result) ?? byCode ?? byWords.failure.type
  if (type !== 'rate_limit') return failure(type, byWords.message, retry_after_ms)
  return failure(type, byWords.message, resetMs(signs.limit, now) ?? retry_after_ms)
}

/** The failure for a `result` that is neither an error nor a reply; undefined for a reply. */
export function failureOfEnd(result: JsonObject, { said }: Signs): ProviderFailure | undefined {
  if (isRefused(result)) return refusedAfter(said, 'the model refused to answer (refusal)')
  const reason = textOf(result.terminal_reason)
  if (reason === undefined || reason === 'completed') return undefined
  return failure(endedBecause(result) ?? 'crashed', `claude stopped without a reply: ${reason}`)
}

function isRefused({ stop_reason }: JsonObject): boolean {
  return stop_reason === 'refusal'
}

function endedBecause(result: JsonObject): FailureType | undefined {
  const { terminal_reason, subtype } = result
  if (isRefused(result)) return 'refused'
  if (terminal_reason === 'prompt_too_long') return 'overflow'
  // The user set this limit, so a retry would reach it again.
  if (terminal_reason === 'max_turns' || subtype === 'error_max_turns') return 'invalid'
  return undefined
}

function wordsOf({ result, errors }: JsonObject): string {
  const text = textOf(result)
  if (text !== undefined && text !== '') return text
  return Array.isArray(errors) ? errors.map(String).join('; ') : ''
}

/**
 * Time until the reset. Only `rejected` means that a limit was reached: claude also reports limits that are near.
 * `resetsAt` is in seconds since 1970.
 */
function resetMs(limit: JsonObject | undefined, now: number): number | undefined {
  if (limit?.status !== 'rejected') return undefined
  const seconds = countOf(limit.resetsAt)
  return seconds === 0 ? undefined : Math.max(0, seconds * 1000 - now)
}

/** The failure for a program that ended without a `result`. The stderr of a killed program does not explain its end. */
export function failureOfExit(
  exit: Exit,
  complaint: string,
  command: string,
  { error, hasBegun }: Pick<Signs, 'error' | 'hasBegun'>,
): ProviderFailure {
  if (exit.code === 127 || exit.code === 126) {
    return failure(
      'misconfigured',
      `${command} cannot be started; install it: npm install -g @anthropic-ai/claude-code, or set its path: --option command=PATH`,
    )
  }
  const how = wordsOfExit(exit)
  if (killerOf(exit) !== undefined) return failure('crashed', `claude ${how} before the end of its turn`)
  const why = complaint === '' ? '' : `: ${complaint}`
  const text = `claude ${how} before the end of its turn${why}`
  const { failure: facts } = failureOfText(complaint)
  // If it exited by itself, an API error that it reported before is the cause.
  const typeOfError = TYPE_OF_ERROR[error ?? '']
  if (exit.code === 0 && hasBegun && typeOfError === undefined) return endedEarly(text)
  return failure(typeOfError ?? facts.type, text, facts.retry_after_ms)
}

/** The failure for an API request that claude is about to retry without any prospect of success. */
export function failureOfRetry(message: JsonObject): ProviderFailure | undefined {
  // The first retry can succeed with a renewed token. All ten take three minutes.
  const isHopeless = message.error === 'authentication_failed' && countOf(message.attempt) > 1
  return isHopeless
    ? failure('authentication', 'the API rejects the key or login of claude; log in: claude /login')
    : undefined
}

export function limitOf(message: JsonObject): JsonObject | undefined {
  return objectOf(message.rate_limit_info)
}
