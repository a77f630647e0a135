/** Errors as OpenAI's API words them. Its SDKs choose the class of the exception by the status, and show the message. */
import { z } from 'zod'
import { type Coded, FaceError } from '../../../shared/src/face/face-error.js'
import { challengeOf, codedError, problemOf } from '../problem.js'
import type { Shape } from '../route.js'

/** The words of that API for an error of substrat. The others keep their code. */
const WORDS: Record<string, { status?: number; code: string }> = {
  UNAUTHORIZED: { code: 'invalid_api_key' },
  INSUFFICIENT_SCOPE: { code: 'missing_scope' },
  AGENT_NOT_FOUND: { code: 'model_not_found' },
  NO_SUCH_PATH: { code: 'unknown_url' },
  USAGE: { code: 'invalid_value' },
  LOCKED: { status: 429, code: 'LOCKED' },
}

const openAiError = z
  .object({
    error: z.object({
      message: z.string().describe('The event, and what to do next.'),
      type: z.enum(['invalid_request_error', 'rate_limit_error', 'server_error']),
      param: z.string().nullable().describe('The field of the request that is not valid.'),
      code: z.string().describe('A code of that API, or an error code of substrat.'),
    }),
  })
  .describe('An error in the form of the OpenAI API.')

export type OpenAiError = z.infer<typeof openAiError>['error']

/** The error of a message that was given to a command. */
export class MessageError extends FaceError {
  constructor(
    error: Coded,
    /** Whether the same request, sent again, cannot deliver the message a second time. */
    readonly isRepeatable: boolean,
  ) {
    super(error.code, error.message, error.hint, error.facts)
  }
}

export function failureOf(error: Coded): { status: number; error: OpenAiError } {
  const { status: ownStatus, detail, next, who, code: ownCode, facts } = problemOf(error)
  const { status = ownStatus, code = ownCode } = WORDS[ownCode] ?? {}
  const type =
    status === 429
      ? 'rate_limit_error'
      : status >= 500 && who !== 'caller'
        ? 'server_error'
        : 'invalid_request_error'
  const param = ownCode === 'AGENT_NOT_FOUND' ? 'model' : typeof facts.param === 'string' ? facts.param : null
  return { status, error: { message: next === null ? detail : `${detail}; ${next}`, type, param, code } }
}

function respond(thrown: unknown): Response {
  const coded = codedError(thrown)
  const { status, error } = failureOf(coded)
  const headers: Record<string, string> = { 'content-type': 'application/json' }
  const challenge = challengeOf(problemOf(coded))
  if (challenge !== undefined) headers['www-authenticate'] = challenge
  const isTransient = problemOf(coded).who === 'anyone'
  if (isTransient) headers['retry-after'] = '1'
  // The SDKs repeat a request with status 409, 429 or 5xx by themselves, unless this header forbids it.
  if (!isTransient || (thrown instanceof MessageError && !thrown.isRepeatable))
    headers['x-should-retry'] = 'false'
  return new Response(JSON.stringify({ error }), { status, headers })
}

export const FAILURE: { shape: Shape; respond(error: unknown): Response } = {
  shape: { name: 'openai_error', schema: openAiError },
  respond,
}
