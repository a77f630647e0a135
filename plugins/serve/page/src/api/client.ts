/** Requests to the server, typed by its OpenAPI document. */
import { Problem } from './problem.js'
import { readToken } from './token.js'
import type { AnswerOf, BodyOf, operations, ProblemBody } from './types.js'

const ROUTES = {
  showToken: 'GET /v1/token',
  listAgents: 'GET /v1/agents',
  showAgent: 'GET /v1/agents/{agent}',
  listRecords: 'GET /v1/agents/{agent}/records',
  listMail: 'GET /v1/agents/{agent}/inbox',
  takeMail: 'POST /v1/agents/{agent}/take',
  showUsage: 'GET /v1/usage',
  searchRecords: 'GET /v1/search',
  listProviders: 'GET /v1/providers',
  listProviderModels: 'GET /v1/provider-models',
  spawnAgent: 'POST /v1/agents',
  setAgent: 'POST /v1/agents/{agent}/set',
  forkAgent: 'POST /v1/agents/{agent}/fork',
  sendMessage: 'POST /v1/agents/{agent}/messages',
  answerQuestion: 'POST /v1/agents/{agent}/answer',
  showPending: 'GET /v1/agents/{agent}/pending',
  approveCalls: 'POST /v1/agents/{agent}/approve',
  denyCalls: 'POST /v1/agents/{agent}/deny',
  resumeAgent: 'POST /v1/agents/{agent}/resume',
  compactConversation: 'POST /v1/agents/{agent}/compact',
  retryTurn: 'POST /v1/agents/{agent}/retry',
  cancelTurn: 'POST /v1/agents/{agent}/cancel',
  suspendAgent: 'POST /v1/agents/{agent}/suspend',
  gateAgent: 'POST /v1/agents/{agent}/gate',
  ungateAgent: 'POST /v1/agents/{agent}/ungate',
  terminateAgent: 'POST /v1/agents/{agent}/terminate',
  changeSchedule: 'POST /v1/agents/{agent}/schedules/change',
  runSchedule: 'POST /v1/agents/{agent}/schedules/run',
} as const satisfies Partial<Record<keyof operations, string>>

export type Operation = keyof typeof ROUTES

export interface Given<Id extends Operation> {
  agent?: string
  query?: operations[Id]['parameters']['query']
  body?: BodyOf<Id>
  /** The Idempotency-Key. */
  key?: string
  signal?: AbortSignal
}

/** Is called when the server refuses the token. */
export const refusal = { onRefused: (): void => undefined }

export async function call<Id extends Operation>(id: Id, given: Given<Id> = {}): Promise<AnswerOf<Id>> {
  const [method, pattern] = ROUTES[id].split(' ') as ['GET' | 'POST', string]
  const path = pattern.replace('{agent}', encodeURIComponent(given.agent ?? ''))
  const response = await request(`${path}${queryText(given.query ?? {})}`, {
    method,
    headers: {
      ...(method === 'POST' ? { 'content-type': 'application/json' } : {}),
      ...(given.key === undefined ? {} : { 'idempotency-key': given.key }),
    },
    ...(method === 'POST' ? { body: JSON.stringify(given.body ?? {}) } : {}),
    ...(given.signal === undefined ? {} : { signal: given.signal }),
  })
  try {
    return (await response.json()) as AnswerOf<Id>
  } catch (error) {
    throw unanswered(error)
  }
}

/** Throws a Problem unless the answer is a success. */
export async function request(path: string, init: RequestInit & { headers?: Record<string, string> }) {
  let response: Response
  try {
    response = await fetch(path, {
      ...init,
      headers: { ...init.headers, authorization: `Bearer ${readToken() ?? ''}` },
      credentials: 'omit',
    })
  } catch (error) {
    throw unanswered(error)
  }
  if (response.ok) return response
  if (response.status === 401) refusal.onRefused()
  throw await problemOf(response)
}

function unanswered(error: unknown): Error {
  if (error instanceof DOMException && error.name === 'AbortError') return error
  return new Problem('the server does not answer', 'NO_ANSWER', undefined, 'start it again: substrat serve')
}

async function problemOf(response: Response): Promise<Problem> {
  try {
    const { detail, code, next, facts } = (await response.json()) as ProblemBody
    return new Problem(detail, code, response.status, next, facts)
  } catch {
    return new Problem('the answer is not from substrat serve', 'FOREIGN_ANSWER', response.status, null)
  }
}

function queryText(query: object): string {
  const given = Object.entries(query).filter(([, value]) => value !== undefined)
  if (given.length === 0) return ''
  return `?${new URLSearchParams(given.map(([name, value]) => [name, String(value)]))}`
}

/** Also where crypto.randomUUID is missing: a browser has it only over TLS and on the loopback. */
export function newKey(): string {
  const bytes = crypto.getRandomValues(new Uint8Array(16))
  return `page-${[...bytes].map((byte) => byte.toString(16).padStart(2, '0')).join('')}`
}
