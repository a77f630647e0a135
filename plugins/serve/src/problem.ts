/**
 * The one table from the errors of substrat, and of the server itself, to HTTP statuses. Every failed request answers with
 * problem+json (RFC 9457), which also names the place, the person who can act, and the next step.
 */
import { type Coded, FaceError } from '../../shared/src/face/face-error.js'
import type { ErrorCode } from './core.js'

/** `caller`: change the request. `operator`: a person with access to the home must act. `anyone`: the same request may succeed later. */
export const ACTORS = ['caller', 'operator', 'anyone'] as const
export type Actor = (typeof ACTORS)[number]

/** Errors of the server itself. */
const OF_SERVER = {
  UNAUTHORIZED: [401, 'caller'],
  TOKEN_MISSING: [401, 'caller'],
  HOST_REFUSED: [403, 'caller'],
  ORIGIN_REFUSED: [403, 'caller'],
  READ_ONLY: [403, 'operator'],
  INSUFFICIENT_SCOPE: [403, 'operator'],
  NO_SUCH_PATH: [404, 'caller'],
  METHOD_REFUSED: [405, 'caller'],
  BODY_TOO_LARGE: [413, 'caller'],
  NOT_JSON: [415, 'caller'],
  SERVER_BUSY: [503, 'anyone'],
  CHILD_DIED: [502, 'anyone'],
} as const satisfies Record<string, [number, Actor]>

const OF_SUBSTRAT: Record<ErrorCode, [number, Actor]> = {
  UNEXPECTED: [500, 'operator'],
  USAGE: [400, 'caller'],
  CONFIG_INVALID: [500, 'operator'],
  AGENT_NOT_FOUND: [404, 'caller'],
  AGENT_AMBIGUOUS: [409, 'caller'],
  PROVIDER_NOT_FOUND: [422, 'caller'],
  TOKEN_NOT_FOUND: [404, 'caller'],
  MESSAGE_NOT_FOUND: [404, 'caller'],
  LOCKED: [423, 'anyone'],
  NO_SLOT: [503, 'anyone'],
  WAITING: [409, 'operator'],
  INTERRUPTED: [409, 'operator'],
  PROGRAM_ALIVE: [409, 'operator'],
  OUTCOME_UNKNOWN: [409, 'operator'],
  NOT_BEFORE: [429, 'anyone'],
  PROVIDER_MISCONFIGURED: [502, 'operator'],
  PROVIDER_FAILED: [502, 'operator'],
  CORRUPT: [500, 'operator'],
  UNKNOWN_FORMAT: [500, 'operator'],
  STORAGE_FAILED: [507, 'operator'],
  HOME_UNUSABLE: [500, 'operator'],
  HOME_EXPOSED: [500, 'operator'],
  LOCK_UNSUPPORTED: [500, 'operator'],
  TIMED_OUT: [504, 'anyone'],
  SESSION_STATE: [409, 'caller'],
  ON_HOLD: [409, 'operator'],
  NAME_TAKEN: [409, 'caller'],
  KEY_CONFLICT: [422, 'caller'],
  QUEUE_FULL: [429, 'anyone'],
  GATED: [409, 'operator'],
  OTHER_HOST: [409, 'operator'],
  UNDELIVERABLE: [409, 'caller'],
  TREE_RULES: [403, 'caller'],
  TREE_FULL: [409, 'operator'],
  HAS_CHILDREN: [409, 'caller'],
  DEADLOCK: [409, 'operator'],
  TOKEN_MALFORMED: [401, 'caller'],
  TOKEN_FOREIGN: [403, 'caller'],
  TOKEN_SCOPE: [403, 'caller'],
  TOKEN_EXPIRED: [410, 'operator'],
  TOKEN_REVOKED: [410, 'operator'],
  TOKEN_CONSUMED: [409, 'caller'],
  CANCELLED: [409, 'caller'],
  SYNC_FAILED: [500, 'operator'],
  STOPPED_SIGHUP: [503, 'anyone'],
  STOPPED_SIGINT: [503, 'anyone'],
  STOPPED_SIGTERM: [503, 'anyone'],
}

export const STATUS_OF: Record<string, [number, Actor]> = { ...OF_SUBSTRAT, ...OF_SERVER }

export type ServerCode = keyof typeof OF_SERVER

export const PROBLEM_CODES = Object.keys(STATUS_OF)

/** The statuses that a route can always answer with. */
export const PROBLEM_STATUSES = [...new Set(Object.values(STATUS_OF).map(([status]) => status))].sort(
  (a, b) => a - b,
)

interface Problem {
  type: string
  title: string
  status: number
  /** The event, in a sentence. */
  detail: string
  code: string
  /** The agent, file or address that it is about. */
  where: string | null
  who: Actor
  /** What to do next. */
  next: string | null
  /** The other facts of the error. */
  facts: Record<string, unknown>
}

/** An error of the server itself. */
export class Refusal extends FaceError {
  constructor(
    code: ServerCode | 'USAGE',
    message: string,
    hint: string,
    facts: Record<string, unknown> = {},
  ) {
    super(code, message, hint, facts)
  }
}

export function problemOf({ code, message, hint, facts = {} }: Coded): Problem {
  const [status, who] = STATUS_OF[code] ?? (STATUS_OF.UNEXPECTED as [number, Actor])
  const where = [facts.where, facts.agent_id, facts.agent, facts.path, facts.file].find(
    (fact) => typeof fact === 'string',
  ) as string | undefined
  return {
    type: `urn:substrat:error:${code}`,
    title: code,
    status,
    detail: message,
    code,
    where: where ?? null,
    who,
    next: hint ?? null,
    facts,
  }
}

/** An error of any origin. One that no code names is a bug of the server, whose stack only the operator sees. */
export function codedError(error: unknown): Coded {
  const { code, message } = Object(error) as Partial<Coded>
  if (typeof code === 'string' && Object.hasOwn(STATUS_OF, code)) return error as Coded
  return {
    code: 'UNEXPECTED',
    message: `unexpected error: ${message ?? String(error)}`,
    hint: 'the server printed the details; report them',
  }
}

/** The header WWW-Authenticate (RFC 6750). */
export function challengeOf({
  status,
  code,
  facts,
}: Pick<Problem, 'status' | 'code' | 'facts'>): string | undefined {
  if (status === 401) return 'Bearer realm="substrat"'
  if (code !== 'INSUFFICIENT_SCOPE') return undefined
  return `Bearer realm="substrat", error="insufficient_scope", scope="${facts.needs}"`
}

export function problemResponse(error: unknown): Response {
  const problem = problemOf(codedError(error))
  const headers: Record<string, string> = { 'content-type': 'application/problem+json' }
  const challenge = challengeOf(problem)
  if (challenge !== undefined) headers['www-authenticate'] = challenge
  if (problem.who === 'anyone') headers['retry-after'] = '1'
  return new Response(JSON.stringify(problem), { status: problem.status, headers })
}
