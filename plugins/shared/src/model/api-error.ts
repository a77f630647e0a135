/** Turns errors of an API into failures of the contract. The first rule that matches decides. */
import type { IncomingHttpHeaders } from 'node:http'
import type { ProviderFailure } from 'substrat/provider'
import { type FailureType, failure } from '../failure.js'
import { wordsIn } from './error-words.js'
import { OVERFLOW_CODES, OVERFLOW_MESSAGE } from './overflow-words.js'
import { bodyRetryAfterMs, retryAfterMs } from './retry-after.js'

export interface ApiError {
  /** The error's `code`, then its `type`, which is less specific, if present. */
  codes: string[]
  message: string
  /** The body as the server sent it. */
  body: unknown
}

interface Reported {
  target: string
  /** Undefined for an error within a streamed answer. */
  status: number | undefined
  headers: IncomingHttpHeaders
  error: ApiError
}

const MESSAGE_CHARACTERS_MAX = 500

/** The account cannot pay. A retry does not help; the user must act. */
const UNPAID_CODES = [
  'insufficient_quota',
  'insufficient_balance',
  'insufficient_credits',
  'billing_error',
  'billing_hard_limit_reached',
  'billing_not_active',
  'budget_exceeded',
  'payment_required',
  'arrearage',
]
const UNPAID_MESSAGE = new RegExp(
  [
    'credit balance is too low',
    'insufficient (account |your )?(credits?|balance|funds|quota)',
    'exceeded your current quota',
    'check your (plan and )?billing',
    'budget has been exceeded',
    '(exceeded|reached) .{0,30}(budget|spend(ing)? limit)',
    // https://github.com/continuedev/continue/issues/10373
    'used (up )?all .{0,20}credits',
    // https://github.com/anthropics/claude-code/issues/38035
    'reached your specified api usage limit',
    // https://github.com/RooCodeInc/Roo-Code/issues/515
    '\\bkey limit exceeded',
    // https://github.com/tencentmusic/supersonic/issues/1572
    'account is in good standing',
    // https://github.com/RooCodeInc/Roo-Code/issues/12309
    'overdue (account|payment)',
    'billing (hard )?limit',
    'payment required',
    '(out of|purchase|buy|add|more) (more )?credits',
  ].join('|'),
  'i',
)

/**
 * The content of the request was rejected, in the words of Azure, OpenAI, OpenRouter and Anthropic. The same request
 * never passes.
 */
const REFUSED_CODES = [
  'content_filter',
  'content_policy_violation',
  'responsibleaipolicyviolation',
  'moderation_blocked',
]
const REFUSED_MESSAGE =
  /(blocked by|triggering) .{0,40}content (management|filter)|\b(was|been|is) flagged\b|violat\w+ .{0,40}(usage|content) polic/i

/** Reasoning in the history was refused, in the words of OpenAI and Anthropic. */
const REASONING_CODE = 'invalid_encrypted_content'
const REASONING_MESSAGE = /thinking\b.{0,40}\bblocks?\b|encrypted.content/i
const reasoningRefusals = new WeakSet<Error>()

/** Whether the API refused the whole request because of the reasoning in its history. */
export function isReasoningRefusal(error: unknown): boolean {
  return error instanceof Error && reasoningRefusals.has(error)
}

/** The codes of the vendors, and of the clouds that host their models. */
const TYPE_OF_CODE: Record<string, FailureType> = {
  authentication_error: 'authentication',
  permission_error: 'authentication',
  invalid_api_key: 'authentication',
  unauthenticated: 'authentication',
  permission_denied: 'authentication',
  rate_limit_error: 'rate_limit',
  rate_limit_exceeded: 'rate_limit',
  resource_exhausted: 'rate_limit',
  throttlingexception: 'rate_limit',
  overloaded_error: 'overloaded',
  server_is_overloaded: 'overloaded',
  slow_down: 'overloaded',
  unavailable: 'overloaded',
  serviceunavailableexception: 'overloaded',
  api_error: 'server_error',
  server_error: 'server_error',
  internal: 'server_error',
  internalserverexception: 'server_error',
  modelstreamerrorexception: 'server_error',
  timeout_error: 'timeout',
  deadline_exceeded: 'timeout',
  modeltimeoutexception: 'timeout',
  invalid_request_error: 'invalid',
  invalid_argument: 'invalid',
  invalid_prompt: 'invalid',
  validationexception: 'invalid',
  not_found_error: 'misconfigured',
  model_not_found: 'misconfigured',
}

/**
 * The service does not know the model, in the words of OpenRouter, DeepSeek, LiteLLM, Mistral, Bedrock and others. No conversation
 * is to blame. A missing item is a part of the conversation, in OpenAI's words.
 */
const MODEL_MESSAGE =
  /\b(no such|unknown|invalid) model\b|\bmodel:? ?[`'"]?[\w./:@-]*[`'"]? ?(was |is |has |can)?(not (be )?(found|exist)|does(n.t| not) exist|identifier is invalid)|not a valid model/i
const ITEM_MESSAGE = /\bitem with id\b/i

const OVERLOADED_STATUSES = [503, 529]
/** A conflict, a request that came too early, and one that a gateway closed. They say nothing about the conversation. */
const REPEATABLE_STATUSES = [409, 425, 499]
/** The address or the model is wrong. A redirect that names no place says the same. */
const SETTINGS_STATUSES = [404, 405, 410]

export function apiFailure({ target, status, headers, error }: Reported): ProviderFailure {
  const now = Date.now()
  const after = latest(retryAfterMs(headers, now), bodyRetryAfterMs(error.body, now))
  const type = typeOf(status ?? statusIn(error), error, after !== undefined)
  const answered = status === undefined ? 'stopped in the middle of its answer' : `answered ${status}`
  const message = error.message === '' ? '' : `: ${oneLine(error.message)}`
  const settings =
    type === 'misconfigured' ? '; check the model (--model) and the address (--option base_url=…)' : ''
  const canWait = type === 'rate_limit' || type === 'overloaded' || type === 'server_error'
  const failed = failure(type, `${target} ${answered}${message}${settings}`, canWait ? after : undefined)
  const isOfReasoning = error.codes.includes(REASONING_CODE) || REASONING_MESSAGE.test(error.message)
  if (status === 400 && isOfReasoning) reasoningRefusals.add(failed)
  return failed
}

function latest(a: number | undefined, b: number | undefined): number | undefined {
  return a === undefined || b === undefined ? (a ?? b) : Math.max(a, b)
}

/** `isTimed`: the server says when to retry. Google then reports a limit per minute in the words of an unpaid account. */
function typeOf(status: number | undefined, { codes, message }: ApiError, isTimed: boolean): FailureType {
  const has = (list: string[]): boolean => codes.some((code) => list.includes(code.toLowerCase()))
  const isRefusal = status === undefined || (status >= 400 && status < 500)
  if (status === 413 || has(OVERFLOW_CODES) || (isRefusal && OVERFLOW_MESSAGE.test(message)))
    return 'overflow'
  const mayBeUnpaid = isRefusal && !(status === 429 && isTimed)
  if (status === 402 || has(UNPAID_CODES) || (mayBeUnpaid && UNPAID_MESSAGE.test(message))) return 'billing'
  if (has(REFUSED_CODES) || (isRefusal && REFUSED_MESSAGE.test(message))) return 'refused'
  // Within a streamed answer only the code tells the type. With a status, the code only distinguishes an overload.
  const known = codes.map((code) => code.toLowerCase()).find((code) => Object.hasOwn(TYPE_OF_CODE, code))
  const byCode = known === undefined ? undefined : TYPE_OF_CODE[known]
  if (status === undefined) {
    const isVague = byCode === undefined || byCode === 'server_error'
    return isVague && /overloaded/i.test(message) ? 'overloaded' : (byCode ?? 'server_error')
  }
  if (status === 401 || status === 403) return 'authentication'
  if (status === 408) return 'timeout'
  if (status === 429) return 'rate_limit'
  if (OVERLOADED_STATUSES.includes(status) || byCode === 'overloaded') return 'overloaded'
  if (status >= 500 || REPEATABLE_STATUSES.includes(status)) return 'server_error'
  const isOfSettings =
    status < 400 ||
    SETTINGS_STATUSES.includes(status) ||
    byCode === 'misconfigured' ||
    MODEL_MESSAGE.test(message)
  return isOfSettings && !ITEM_MESSAGE.test(message) ? 'misconfigured' : 'invalid'
}

/** OpenRouter and others put the upstream status into the code. */
function statusIn({ codes }: ApiError): number | undefined {
  return codes.map(Number).find((code) => code >= 400 && code < 600)
}

/** Reads the body of an error in any of the forms in use. */
export function readApiError(body: string): ApiError {
  try {
    return apiErrorOf(JSON.parse(body))
  } catch {
    // Usually the HTML page of a gateway: keep its text.
    return { codes: [], message: body.replaceAll(/<[^>]*>/g, ' ').trim(), body }
  }
}

export function apiErrorOf(value: unknown): ApiError {
  const outer = objectOf(Array.isArray(value) ? value[0] : value)
  const inner = objectOf(outer.error ?? outer)
  const codes = [inner.code, inner.type, inner.status, outer.status, outer.code].flatMap((code) =>
    typeof code === 'string' || typeof code === 'number' ? [String(code)] : [],
  )
  return { codes, message: wordsIn(value), body: value }
}

function objectOf(value: unknown): Record<string, unknown> {
  return typeof value === 'object' && value !== null ? (value as Record<string, unknown>) : {}
}

export function oneLine(text: string): string {
  const line = text.replaceAll(/\s+/g, ' ').trim()
  return line.length <= MESSAGE_CHARACTERS_MAX ? line : `${line.slice(0, MESSAGE_CHARACTERS_MAX)}…`
}
