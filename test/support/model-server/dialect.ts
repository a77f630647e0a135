/** The differences between the three APIs. */
import type { Issued } from './reasoning.js'
import type { ErrorKind, ScriptedAnswer } from './scenario.js'

export type Json = { [key: string]: unknown }

export interface Dialect {
  /** The reason to refuse a request; undefined if it is valid. */
  refusal(body: Json, issued: Issued): string | undefined
  /** The number of model responses in the history. */
  responsesIn(body: Json): number
  latestUserText(body: Json): string
  /** The events of a complete answer. */
  events(answer: ScriptedAnswer, place: number, body: Json, issued: Issued): SentEvent[]
  keyOf(headers: NodeJS.Dict<string | string[]>): string | undefined
  /** The status and the body of an error. */
  error(kind: ErrorKind, message: string): { status: number; body: Json }
  /** The same error in the middle of an answer. */
  errorEvent(kind: ErrorKind, message: string): SentEvent
}

export interface SentEvent {
  /** The `event:` line, if the API has one. */
  name?: string
  data: string
}

export const DEFAULT_MESSAGE: Record<ErrorKind, string> = {
  invalid: 'The request is not valid.',
  unbound: 'The encrypted content could not be verified.',
  authentication: 'Incorrect API key provided.',
  permission: 'This key may not use this model.',
  quota: 'You exceeded your current quota, please check your plan and billing details.',
  not_found: 'The model does not exist.',
  overflow: 'too long',
  too_large: 'The request is too large.',
  rate_limit: 'Rate limit reached.',
  server_error: 'Internal server error.',
  overloaded: 'Overloaded',
}

export function isObject(value: unknown): value is Json {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}

export function objects(value: unknown): Json[] {
  return Array.isArray(value) ? value.filter(isObject) : []
}

export function isText(value: unknown): value is string {
  return typeof value === 'string' && value.trim() !== ''
}

export function unknownKey(body: Json, known: readonly string[]): string | undefined {
  return Object.keys(body).find((key) => !known.includes(key))
}

export const TOOL_NAME = /^[a-zA-Z0-9_-]{1,64}$/

/** Half of a surrogate pair, as JSON.stringify writes it. The APIs reject such text. */
export function hasLoneSurrogate(value: unknown): boolean {
  if (typeof value === 'string') return /\p{Surrogate}/u.test(value)
  return typeof value === 'object' && value !== null && Object.values(value).some(hasLoneSurrogate)
}

export function isJsonObject(text: unknown): boolean {
  try {
    return typeof text === 'string' && isObject(JSON.parse(text))
  } catch {
    return false
  }
}
