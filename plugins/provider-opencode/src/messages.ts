/**
 * Finds the answer to a prompt in a session's messages, and decides whether it is complete. API and export have the
 * same format.
 */
import type { IncomingHttpHeaders } from 'node:http'
import type { AgentEvent, JsonObject, ProviderFailure } from 'substrat/provider'
import { type FailureType, failure, refusedAfter } from '../../shared/src/failure.js'
import { retryAfterMs } from '../../shared/src/model/retry-after.js'
import { failureOfText } from '../../shared/src/program/failure-text.js'
import { countOf, objectOf, objectsOf, textOf } from '../../shared/src/program/json.js'
import { type Used, usedBy } from './usage.js'

export interface Answered {
  reply: string
  /** Undefined if no message reports it. */
  used: Used | undefined
  /** Why the last message ended; undefined if it has not. */
  finish: string | undefined
  /**
   * The last message has tool calls. OpenCode asks the model again with their results, even if `finish` is `stop`, as
   * with some models.
   */
  isCalling: boolean
  error: JsonObject | undefined
}

/**
 * Undefined without an answer to the prompt. The reply is the last message. If OpenCode continued because the
 * conversation became too long, the reply also has the model's earlier answer.
 */
export function answerTo(messages: JsonObject[], promptId: string): Answered | undefined {
  const said = saidTo(messages, promptId)
  // A summary is only for the model.
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
    used: usedFor(messages, promptId),
    finish,
    isCalling: hasCalls(last),
    // Includes the error of a failed summary, without which OpenCode cannot continue.
    error: errorOf(last) ?? (isEnd(finish) ? undefined : errorOf(said.at(-1))),
  }
}

/** The usage of the turn with this prompt, also if it has no answer. */
export function usedFor(messages: JsonObject[], promptId: string): Used | undefined {
  return usedBy(saidTo(messages, promptId).map(({ info }) => objectOf(info)))
}

/**
 * The model's messages that answer the prompt, or a message that OpenCode added after it. Stops at the next prompt of
 * a user.
 */
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
 * Whether OpenCode itself added this part to continue a turn. After it has summarised a long conversation, it tells
 * the model to continue, or repeats the prompt.
 */
export function isOwnPart({ type, auto, synthetic, text }: JsonObject, prompt: string): boolean {
  if (type === 'compaction') return auto === true
  return type === 'text' && (synthetic === true || text === prompt)
}

/** The tool results among the messages that answer the prompt. */
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

/** The model ended by itself. After `tool-calls` another message was due; `unknown` means a broken stream. */
function isEnd(finish: string | undefined): boolean {
  return finish === 'stop' || finish === 'length'
}

/** Whether the message calls tools that OpenCode runs. */
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
    return failure('crashed', 'opencode reports that the turn was aborted, but substrat did not abort it')
  }
  // This "not found" is about settings, not about the session.
  if (/^(agent|model) not found/i.test(textOf(message) ?? '')) return failure('misconfigured', said)
  const told = failureOfText(statusCode === undefined ? said : `${said} (${String(statusCode)})`)
  const headers = objectOf(responseHeaders) as IncomingHttpHeaders | undefined
  const ms = told.failure.retry_after_ms ?? (headers && retryAfterMs(headers, Date.now()))
  return failure(told.failure.type, told.message, told.failure.type === 'rate_limit' ? ms : undefined)
}

/** The end of a turn with this answer. `reported`: an error event that the answer may lack. */
export function* endOf(answered: Answered, reported: JsonObject | undefined): Iterable<AgentEvent> {
  const { reply, used, finish } = answered
  const error = answered.error ?? (isEnd(finish) ? undefined : reported)
  const isCut = finish === 'length' || error?.name === 'MessageOutputLengthError'
  // A turn that fails has used tokens too.
  if (used !== undefined) yield { type: 'usage', ...used }
  if (error !== undefined && !isCut) throw failureSaying(reply, failureOfError(error))
  if (finish === 'content-filter') throw refusedAfter(reply, 'the model refused to answer (content-filter)')
  if (!isCut && !isWhole(answered)) {
    const how = finish === undefined ? '' : `: its last message ended with ${finish}`
    throw failure('crashed', `opencode ended the turn without an answer${how}`)
  }
  if (isCut)
    yield {
      type: 'note',
      text: 'the reply is incomplete: the model reached its maximum number of tokens per response',
    }
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
