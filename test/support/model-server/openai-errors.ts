/** The errors of both OpenAI APIs. */
import type { Json } from './dialect.js'
import type { ErrorKind } from './scenario.js'

const ERRORS: Record<ErrorKind, [status: number, type: string, code: string | null]> = {
  invalid: [400, 'invalid_request_error', null],
  unbound: [400, 'invalid_request_error', 'invalid_encrypted_content'],
  authentication: [401, 'invalid_request_error', 'invalid_api_key'],
  permission: [403, 'invalid_request_error', null],
  quota: [429, 'insufficient_quota', 'insufficient_quota'],
  not_found: [404, 'invalid_request_error', 'model_not_found'],
  overflow: [400, 'invalid_request_error', 'context_length_exceeded'],
  too_large: [413, 'invalid_request_error', null],
  rate_limit: [429, 'requests', 'rate_limit_exceeded'],
  server_error: [500, 'server_error', 'server_error'],
  overloaded: [503, 'server_error', null],
}

export function openaiError(kind: ErrorKind, message: string): { status: number; body: Json } {
  const [status, type, code] = ERRORS[kind]
  return { status, body: { error: { message, type, param: null, code } } }
}

export function codeOf(kind: ErrorKind): string {
  return ERRORS[kind][2] ?? ERRORS[kind][1]
}

export function bearerOf(headers: NodeJS.Dict<string | string[]>): string | undefined {
  const { authorization } = headers
  return typeof authorization === 'string' ? authorization.replace(/^Bearer /, '') : undefined
}
