/** How a response ends. Each API has a table of its words for that (docs/providers.md, Ends of an answer). */
import type { ModelEvent, ToolCall } from 'substrat/provider'
import { failure } from '../failure.js'
import type { Layout } from './layout.js'
import type { Paused } from './paused.js'
import { refusal } from './refusal.js'
import type { Endpoint } from './settings.js'

/**
 * - `calls`: the response ends with at least one call.
 * - `cut`: the response reached a limit of tokens.
 * - `failed`: the server gave up; the request can be repeated.
 * - `malformed`: the model made a call that its server could not read.
 * - `paused`: the response goes on when it is sent back.
 */
export type End = 'complete' | 'calls' | 'cut' | 'refused' | 'failed' | 'malformed' | 'paused' | 'unknown'

export type Ends = Record<string, End>

export interface Ended {
  end: End
  /** The server's word; empty if it gave none. */
  word: string
  calls: ToolCall[]
  layout: Layout
}

/** Servers differ in the case of their words. */
export function endIn(table: Ends, word: string): End {
  const known = word.toLowerCase()
  return (Object.hasOwn(table, known) ? table[known] : undefined) ?? 'unknown'
}

/** Why the last call may be incomplete, in words for the model; undefined if it is complete. */
export function cutBy(end: End, word: string): string | undefined {
  if (end === 'cut') return CUT
  const how = word === '' ? NO_WORD : JSON.stringify(word)
  return end === 'unknown'
    ? `the response ended in an unknown way (${how}), perhaps in the middle of them; make the call again, with all its arguments`
    : undefined
}

/** Throws if the response ended in a way that makes it no answer. Call it before the calls are finished: they may be broken. */
export function refuseEnd(endpoint: Endpoint, end: End, word: string): void {
  const { host } = endpoint.url
  if (end === 'refused') throw refusal(endpoint, word)
  if (end === 'failed') throw failure('server_error', `${host} broke off its answer (${word})`)
  if (end === 'malformed')
    throw failure('invalid_response', `${host} could not read a tool call of its model (${word})`)
}

/** The last events of a response. */
export function* endEvents({ end, word, calls, layout }: Ended): Iterable<ModelEvent | Paused> {
  yield* layout.finish()
  for (const call of calls) yield { type: 'tool_call', call }
  if (end === 'paused' && calls.length === 0) {
    yield { type: 'paused', word }
    return
  }
  // A response that announces calls and has none has lost them.
  const isUnknown = end === 'unknown' || (end === 'calls' && calls.length === 0)
  const reason = calls.length > 0 ? 'tool_calls' : end === 'cut' ? 'length' : 'end'
  yield { type: 'stop', reason, ...(isUnknown && { incomplete: word === '' ? NO_WORD : word }) }
}

const NO_WORD = 'no stop reason'
const CUT =
  'the response reached its token limit in the middle of them; make a shorter call (the user can raise the limit with --option max_tokens=…)'
