/** Turns errors of an API into failures of the contract. The first rule that matches decides. */
import type { IncomingHttpHeaders } from 'node:http'
import type { ProviderFailure } from 'substrat/provider'
import { type FailureType, failure } from '../failure.js'
import { retryAfterMs } from './retry-after.js'

export interface ApiError {
  /** The error's `code`, then its `type`, which is less specific, if present. */
  codes: string[]
  message: string
  /** The body had the form of an error. */
  isReported: boolean
}

interface Reported {
  target: string
  /** Undefined for an error within a streamed answer. */
  status: number | undefined
  headers: IncomingHttpHeaders
  error: ApiError
}

const MESSAGE_CHARACTERS_MAX = 500

/** The conversation is too long, in the words of Anthropic, OpenAI, vLLM, llama.cpp and OpenRouter. */
const OVERFLOW_CODES = [
  'context_length_exceeded',
  'context_window_exceeded',
  'model_context_window_exceeded',
  'exceed_context_size_error',
  'request_too_large',
  'string_above_max_length',
]
const OVERFLOW_MESSAGE = new RegExp(
  [
    'prompt is too long',
    'exceeds? (the |its |your )?(available |model.s )?context',
    'exceeds? the (maximum )?(context|number of) (length|window|size|tokens)',
    'exceed context limit',
    'maximum context length',
    'maximum model length',
    // A single request exceeds the limit per minute, so waiting does not help.
    'request too large for',
  ].join('|'),
  'i',
)

/** The account cannot pay. A retry does not help; the user must act. */
const UNPAID_CODES = [
  'insufficient_quota',
  'billing_error',
  'billing_hard_limit_reached',
  'billing_not_active',
]
const UNPAID_MESSAGE = /credit balance is too low|insufficient (credits|balance)/i

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

const TYPE_OF_CODE: Record<string, FailureType> = {
  authentication_error: 'authentication',
  permission_error: 'authentication',
  invalid_api_key: 'authentication',
  rate_limit_error: 'rate_limit',
  rate_limit_exceeded: 'rate_limit',
  overloaded_error: 'overloaded',
  api_error: 'overloaded',
  server_error: 'overloaded',
  timeout_error: 'timeout',
  invalid_request_error: 'invalid',
  invalid_prompt: 'invalid',
  not_found_error: 'invalid',
}

export function apiFailure({ target, status, headers, error }: Reported): ProviderFailure {
  const type = typeOf(status ?? statusIn(error), error)
  const answered = status === undefined ? 'stopped in the middle of its answer' : `answered ${status}`
  const message = error.message === '' ? '' : `: ${oneLine(error.message)}`
  const canWait = type === 'rate_limit' || type === 'overloaded'
  const failed = failure(
    type,
    `${target} ${answered}${message}`,
    canWait ? retryAfterMs(headers, Date.now()) : undefined,
  )
  const isOfReasoning = error.codes.includes(REASONING_CODE) || REASONING_MESSAGE.test(error.message)
  if (status === 400 && isOfReasoning) reasoningRefusals.add(failed)
  return failed
}

function typeOf(status: number | undefined, { codes, message }: ApiError): FailureType {
  const has = (list: string[]): boolean => codes.some((code) => list.includes(code.toLowerCase()))
  const isRefusal = status === undefined || (status >= 400 && status < 500)
  if (status === 413 || has(OVERFLOW_CODES) || (isRefusal && OVERFLOW_MESSAGE.test(message)))
    return 'overflow'
  if (status === 402 || has(UNPAID_CODES) || (isRefusal && UNPAID_MESSAGE.test(message)))
    return 'misconfigured'
  if (has(REFUSED_CODES) || (isRefusal && REFUSED_MESSAGE.test(message))) return 'refused'
  // Within a streamed answer only the code tells the type. With a status, the code only distinguishes an overload.
  const byCode = codes.map((code) => TYPE_OF_CODE[code]).find((type) => type !== undefined)
  if (status === undefined) return byCode ?? 'overloaded'
  if (status === 401 || status === 403) return 'authentication'
  if (status === 408) return 'timeout'
  if (status === 429) return 'rate_limit'
  if (status >= 500 || codes.includes('overloaded_error')) return 'overloaded'
  return 'invalid'
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
    return { codes: [], message: body.replaceAll(/<[^>]*>/g, ' ').trim(), isReported: false }
  }
}

export function apiErrorOf(value: unknown): ApiError {
  const outer = objectOf(value)
  const inner = typeof outer.error === 'string' ? { message: outer.error } : objectOf(outer.error ?? value)
  const codes = [inner.code, inner.type].flatMap((code) =>
    typeof code === 'string' || typeof code === 'number' ? [String(code)] : [],
  )
  const message = [inner.message, inner.detail, outer.message].find((text) => typeof text === 'string') ?? ''
  return { codes, message, isReported: outer.error !== undefined && outer.error !== null }
}

function objectOf(value: unknown): Record<string, unknown> {
  return typeof value === 'object' && value !== null ? (value as Record<string, unknown>) : {}
}

function oneLine(text: string): string {
  const line = text.replaceAll(/\s+/g, ' ').trim()
  return line.length <= MESSAGE_CHARACTERS_MAX ? line : `${line.slice(0, MESSAGE_CHARACTERS_MAX)}…`
}
