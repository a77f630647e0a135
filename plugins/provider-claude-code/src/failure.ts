/** Why a turn of claude failed. */
import type { JsonObject, ProviderFailure } from 'substrat/provider'
import { endedEarly, type FailureType, failure, refusedAfter } from '../../shared/src/failure.js'
import { type Exit, killerOf, wordsOfExit } from '../../shared/src/program/exit.js'
import { failureOfText } from '../../shared/src/program/failure-text.js'
import { countOf, objectOf, textOf } from '../../shared/src/program/json.js'

/** What claude names the errors of the API, in its `error` beside a message. */
const TYPE_OF_ERROR: Record<string, FailureType> = {
  rate_limit: 'rate_limit',
  overloaded: 'overloaded',
  server_error: 'overloaded',
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
}

/** What the turn has said of its end before it ended. */
export interface Signs {
  /** `error` of the latest message that claude wrote in the model's place. */
  error: string | undefined
  /** `rate_limit_info` of the latest `rate_limit_event`. */
  limit: JsonObject | undefined
  /** It has said that it began. */
  hasBegun: boolean
  /** What the model itself has said so far in its latest message. */
  said: string
}

/** Of a `result` that is an error. */
export function failureOfResult(result: JsonObject, signs: Signs, now = Date.now()): ProviderFailure {
  const failed = failureByCause(result, signs, now)
  return failed.failure.type === 'refused' ? refusedAfter(signs.said, failed.message) : failed
}

function failureByCause(result: JsonObject, signs: Signs, now: number): ProviderFailure {
  const said = wordsOf(result)
  const status = countOf(result.api_error_status)
  const byCode =
    TYPE_OF_ERROR[signs.error ?? ''] ?? TYPE_OF_STATUS[status] ?? (status >= 500 ? 'overloaded' : undefined)
  const byWords = failureOfText(said, status >= 400 ? 'invalid' : 'crashed', now)
  const { retry_after_ms } = byWords.failure
  const type = endedBecause(result) ?? byCode ?? byWords.failure.type
  if (type !== 'rate_limit') return failure(type, byWords.message, retry_after_ms)
  return failure(type, byWords.message, resetMs(signs.limit, now) ?? retry_after_ms)
}

/** Of an end that is no error, and no reply either; undefined for a good one. */
export function failureOfEnd(result: JsonObject, { said }: Signs): ProviderFailure | undefined {
  if (isRefused(result)) return refusedAfter(said, 'claude says refusal')
  const reason = textOf(result.terminal_reason)
  if (reason === undefined || reason === 'completed') return undefined
  return failure(endedBecause(result) ?? 'crashed', `claude stopped before its reply: ${reason}`)
}

function isRefused({ stop_reason }: JsonObject): boolean {
  return stop_reason === 'refusal'
}

function endedBecause(result: JsonObject): FailureType | undefined {
  const { terminal_reason, subtype } = result
  if (isRefused(result)) return 'refused'
  if (terminal_reason === 'prompt_too_long') return 'overflow'
  // A bound that the person has set: asking again meets it again.
  if (terminal_reason === 'max_turns' || subtype === 'error_max_turns') return 'invalid'
  return subtype === 'error_max_budget_usd' ? 'invalid' : undefined
}

function wordsOf({ result, errors }: JsonObject): string {
  const text = textOf(result)
  if (text !== undefined && text !== '') return text
  return Array.isArray(errors) ? errors.map(String).join('; ') : ''
}

/** Until the limit that was met is reset; claude gives the time in seconds since 1970, of limits that are only near too. */
function resetMs(limit: JsonObject | undefined, now: number): number | undefined {
  if (limit?.status !== 'rejected') return undefined
  const seconds = countOf(limit.resetsAt)
  return seconds === 0 ? undefined : Math.max(0, seconds * 1000 - now)
}

/** Of a program that ended without saying how its turn went. What a killed one had complained of is not why it ended. */
export function failureOfExit(
  exit: Exit,
  complaint: string,
  command: string,
  { error, hasBegun }: Pick<Signs, 'error' | 'hasBegun'>,
): ProviderFailure {
  if (exit.code === 127 || exit.code === 126) {
    return failure(
      'misconfigured',
      `${command} cannot be run: install it with npm install -g @anthropic-ai/claude-code, or say where it is with --option command=PATH`,
    )
  }
  const how = wordsOfExit(exit)
  if (killerOf(exit) !== undefined) return failure('crashed', `claude ${how} before its turn had ended`)
  const why = complaint === '' ? '' : `: ${complaint}`
  const text = `claude ${how} before its turn had ended${why}`
  const { failure: facts } = failureOfText(complaint)
  // What it said of the API before it exited by itself is why.
  const typeOfError = TYPE_OF_ERROR[error ?? '']
  if (exit.code === 0 && hasBegun && typeOfError === undefined) return endedEarly(text)
  return failure(typeOfError ?? facts.type, text, facts.retry_after_ms)
}

/** Of a request to the API that claude is about to ask again, where that cannot help. */
export function failureOfRetry(message: JsonObject): ProviderFailure | undefined {
  // Once more is for a token that is renewed meanwhile; ten times are three minutes of nothing.
  const isHopeless = message.error === 'authentication_failed' && countOf(message.attempt) > 1
  return isHopeless
    ? failure('authentication', 'the API does not take the key or the login of claude: claude /login')
    : undefined
}

export function limitOf(message: JsonObject): JsonObject | undefined {
  return objectOf(message.rate_limit_info)
}
