/** A session's messages, as the API and the export have them: what the answer to a prompt is, and whether it is whole. */
import type { IncomingHttpHeaders } from 'node:http'
import type { AgentEvent, JsonObject, ProviderFailure, Usage } from 'substrat/provider'
import { type FailureType, failure, refusedAfter } from '../../shared/src/failure.js'
import { retryAfterMs } from '../../shared/src/model/retry-after.js'
import { failureOfText } from '../../shared/src/program/failure-text.js'
import { countOf, objectOf, objectsOf, textOf } from '../../shared/src/program/json.js'

export interface Answered {
  reply: string
  usage: Usage
  /** Why it ended; undefined where it has not. */
  finish: string | undefined
  /** The last message has calls: with their results OpenCode asks the model again, also where that says `stop`, as some do. */
  isCalling: boolean
  error: JsonObject | undefined
}

/**
 * Undefined where there is no answer to the prompt at all. The reply is its last message; and before that what the model
 * had ended with already, where the conversation was too long after it and OpenCode made it go on.
 */
export function answerTo(messages: JsonObject[], promptId: string): Answered | undefined {
  const said = saidTo(messages, promptId)
  // A summary is for the model that goes on with it.
  const answers = said.filter(({ info }) => objectOf(info)?.summary !== true)
  const last = answers.at(-1)
  if (last === undefined) return undefined
  const finish = finishOf(last)
  const ends = answers.filter(
    (message) => message === last || (isEnd(finishOf(message)) && !hasCalls(message)),
  )
  const hasWords = (text: string): boolean => text.trim() !== ''
  return {
    reply: ends.map(textIn).filter(hasWords).join('\n\n') || (answers.map(textIn).findLast(hasWords) ?? ''),
    usage: said.map(usageOf).reduce(sum, { input_tokens: 0, output_tokens: 0 }),
    finish,
    isCalling: hasCalls(last),
    // Also of a summary without which it cannot go on.
    error: errorOf(last) ?? (isEnd(finish) ? undefined : errorOf(said.at(-1))),
  }
}

/** What the model said to the prompt, and to what OpenCode itself has put after it; no further than the next of a person. */
function saidTo(messages: JsonObject[], promptId: string): JsonObject[] {
  const at = messages.findIndex(({ info }) => objectOf(info)?.id === promptId)
  const [prompt, ...rest] = at === -1 ? [] : messages.slice(at)
  const words = prompt === undefined ? '' : textIn(prompt)
  const prompts = new Set([promptId])
  const said: JsonObject[] = []
  for (const message of rest) {
    const { id, role, parentID } = objectOf(message.info) ?? {}
    const parts = objectsOf(message.parts)
    if (role === 'assistant' && prompts.has(String(parentID))) said.push(message)
    if (role !== 'user') continue
    if (parts.length === 0 || !parts.every((part) => isOwnPart(part, words))) break
    prompts.add(String(id))
  }
  return said
}

/**
 * Of a message by which OpenCode goes on with a turn: where it is too long, it has it summarised, and then tells the model
 * to go on, or puts the prompt once more.
 */
export function isOwnPart({ type, auto, synthetic, text }: JsonObject, prompt: string): boolean {
  if (type === 'compaction') return auto === true
  return type === 'text' && (synthetic === true || text === prompt)
}

/** The results in what was said to the prompt: of substrat's tools the answers, of any other whether it failed. */
export function* resultsIn(
  messages: JsonObject[],
  promptId: string,
  server: string,
): Iterable<{ callId: string; isOwn: boolean; isError: boolean }> {
  for (const part of saidTo(messages, promptId).flatMap(({ parts }) => objectsOf(parts))) {
    const status = objectOf(part.state)?.status
    if (part.type !== 'tool' || (status !== 'completed' && status !== 'error')) continue
    const isOwn = textOf(part.tool)?.startsWith(`${server}_`) === true
    yield { callId: String(part.callID), isOwn, isError: status === 'error' }
  }
}

export function isWhole({ finish, error }: Answered): boolean {
  return error === undefined && isEnd(finish)
}

/** The model's own end. After `tool-calls` another message was to come; `unknown` is a stream that broke off. */
function isEnd(finish: string | undefined): boolean {
  return finish === 'stop' || finish === 'length'
}

/** Of tools that OpenCode runs. */
function hasCalls({ parts }: JsonObject): boolean {
  return objectsOf(parts).some(
    ({ type, metadata }) => type === 'tool' && objectOf(metadata)?.providerExecuted !== true,
  )
}

function finishOf({ info }: JsonObject): string | undefined {
  const { time, finish } = objectOf(info) ?? {}
  return countOf(objectOf(time)?.completed) > 0 ? textOf(finish) : undefined
}

function errorOf(message: JsonObject | undefined): JsonObject | undefined {
  return objectOf(objectOf(message?.info)?.error)
}

const FAILURES: Record<string, FailureType> = {
  ProviderAuthError: 'authentication',
  ContextOverflowError: 'overflow',
  ContentFilterError: 'refused',
}

export function failureOfError({ name, data }: JsonObject): ProviderFailure {
  const { message, statusCode, responseHeaders } = objectOf(data) ?? {}
  const said = `opencode: ${textOf(message) ?? String(name)}`
  const known = FAILURES[String(name)]
  if (known !== undefined) return failure(known, said)
  if (name === 'MessageAbortedError') {
    return failure('crashed', 'opencode says that the turn was aborted, but not by substrat')
  }
  // Of settings, and of no session.
  if (/^(agent|model) not found/i.test(textOf(message) ?? '')) return failure('misconfigured', said)
  const told = failureOfText(statusCode === undefined ? said : `${said} (${String(statusCode)})`)
  const headers = objectOf(responseHeaders) as IncomingHttpHeaders | undefined
  const ms = told.failure.retry_after_ms ?? (headers && retryAfterMs(headers, Date.now()))
  return failure(told.failure.type, told.message, told.failure.type === 'rate_limit' ? ms : undefined)
}

/** How a turn ends with this answer. `reported`: an error that OpenCode told of, which the answer may lack. */
export function* endOf(answered: Answered, reported: JsonObject | undefined): Iterable<AgentEvent> {
  const { reply, usage, finish } = answered
  const error = answered.error ?? (isEnd(finish) ? undefined : reported)
  const isCut = finish === 'length' || error?.name === 'MessageOutputLengthError'
  if (error !== undefined && !isCut) throw failureSaying(reply, failureOfError(error))
  if (usage.input_tokens + usage.output_tokens > 0) yield { type: 'usage', usage }
  if (finish === 'content-filter') throw refusedAfter(reply, 'opencode says content-filter')
  if (!isCut && !isWhole(answered)) {
    const how = finish === undefined ? '' : `: its last message ended with ${finish}`
    throw failure('crashed', `opencode ended the turn without an answer${how}`)
  }
  if (isCut)
    yield { type: 'note', text: 'the reply was cut short: the model reached the most tokens of a response' }
  yield { type: 'done', reply }
}

function failureSaying(said: string, failed: ProviderFailure): ProviderFailure {
  return failed.failure.type === 'refused' ? refusedAfter(said, failed.message) : failed
}

function textIn({ parts }: JsonObject): string {
  return objectsOf(parts)
    .filter(({ type, synthetic }) => type === 'text' && synthetic !== true)
    .map(({ text }) => textOf(text) ?? '')
    .join('')
}

/** With what it read from its cache, and what it thought, as other providers count. */
function usageOf({ info }: JsonObject): Usage {
  const { input, output, reasoning, cache } = objectOf(objectOf(info)?.tokens) ?? {}
  const { read, write } = objectOf(cache) ?? {}
  return {
    input_tokens: countOf(input) + countOf(read) + countOf(write),
    output_tokens: countOf(output) + countOf(reasoning),
  }
}

function sum(a: Usage, b: Usage): Usage {
  return {
    input_tokens: a.input_tokens + b.input_tokens,
    output_tokens: a.output_tokens + b.output_tokens,
  }
}
