/**
 * Parses one line of JSON-RPC into a message to pass on, or an error response to the sender.
 *
 * Invariant: every request gets a response. The server behind this parser drops invalid lines silently, so this module
 * responds to them, under the request's id if it can be read.
 */

import { isPlainObject } from '../../format.js'
import { limits } from '../../limits.js'
import type { Line } from './lines.js'

export type ParsedMessage =
  /** `id`: a request's id as JSON; undefined for a notification or a response. */
  | { kind: 'message'; message: Message; id: string | undefined }
  | { kind: 'refused'; answer: string }
  | { kind: 'nothing' }

export interface Message {
  id?: unknown
  method?: unknown
  params?: unknown
}

const PARSE_ERROR = -32700
const INVALID_REQUEST = -32600

export function parseMessage(line: Line): ParsedMessage {
  if (line.left > 0) return refusedLine(idAtAnEnd(line), INVALID_REQUEST, TOO_LONG)
  const text = line.bytes.toString('utf8')
  if (text.trim() === '') return { kind: 'nothing' }
  let value: unknown
  try {
    value = JSON.parse(text)
  } catch {
    return refusedLine('null', PARSE_ERROR, 'This line is not valid JSON.')
  }
  if (Array.isArray(value)) return batch(value)
  const why = whyInvalid(value)
  if (why !== undefined) return refusedLine(idOf(value), INVALID_REQUEST, why)
  const message = value as Message
  const isRequest = message.method !== undefined && message.id !== undefined
  return { kind: 'message', message, id: isRequest ? JSON.stringify(message.id) : undefined }
}

/** An error response with its LF. */
export function errorLine(id: string, code: number, message: string): string {
  return `${errorObject(id, code, message)}\n`
}

function errorObject(id: string, code: number, message: string): string {
  return `{"jsonrpc":"2.0","id":${id},"error":${JSON.stringify({ code, message })}}`
}

function refusedLine(id: string, code: number, message: string): ParsedMessage {
  return { kind: 'refused', answer: errorLine(id, code, message) }
}

const TOO_LONG = `This line is longer than ${limits.mcpLineBytesMax} bytes and was not read.`
const NO_BATCHES = 'Batches are not supported: send each message on its own line.'

/** Refuses a batch in the form of a batch response: a list with one error per request. */
function batch(values: unknown[]): ParsedMessage {
  const asking = values.filter(
    (value) => !isPlainObject(value) || value.method === undefined || 'id' in value,
  )
  if (asking.length === 0) return refusedLine('null', INVALID_REQUEST, NO_BATCHES)
  const errors = asking.map((value) => errorObject(idOf(value), INVALID_REQUEST, NO_BATCHES))
  return { kind: 'refused', answer: `[${errors.join(',')}]\n` }
}

/** Checks against MCP's rules, which are stricter than JSON-RPC's. */
function whyInvalid(value: unknown): string | undefined {
  if (!isPlainObject(value)) return 'The message is not an object.'
  const { jsonrpc, id, method, params } = value
  if (jsonrpc !== '2.0') return 'This is not JSON-RPC 2.0: jsonrpc is not "2.0".'
  const hasId = typeof id === 'string' || Number.isSafeInteger(id)
  if ('id' in value && !hasId) return 'The id is neither a string nor an integer.'
  if (method === undefined) {
    const isAnswer = (hasId && isPlainObject(value.result)) || isPlainObject(value.error)
    return isAnswer ? undefined : 'The message has no method and is not a response.'
  }
  if (typeof method !== 'string') return 'The method is not a string.'
  return params === undefined || isPlainObject(params) ? undefined : 'The params are not an object.'
}

/** The message's id as JSON, by which the sender finds its request; `null` if it has no valid id. */
function idOf(value: unknown): string {
  const id = isPlainObject(value) ? value.id : undefined
  return typeof id === 'string' || typeof id === 'number' ? JSON.stringify(id) : 'null'
}

const ID_FIRST = /^\s*\{\s*(?:"jsonrpc"\s*:\s*"2\.0"\s*,\s*)?"id"\s*:\s*(-?\d{1,15}|"[\w-]{1,200}")\s*,/
const ID_LAST = /"id"\s*:\s*(-?\d{1,15}|"[\w-]{1,200}")\s*\}\s*$/

/** The id of a line too long to parse, as JSON: most programs write it first or last. `null` if it cannot be read. */
export function idAtAnEnd({ bytes, tail }: Line): string {
  return ID_FIRST.exec(bytes.toString('utf8'))?.[1] ?? ID_LAST.exec(tail.toString('utf8'))?.[1] ?? 'null'
}
