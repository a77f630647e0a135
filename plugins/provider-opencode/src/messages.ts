/** A session's messages, as the API and the export have them: what the answer to a prompt is, and whether it is whole. */
import type { IncomingHttpHeaders } from 'node:http'
import type { AgentEvent, JsonObject, ProviderFailure, Usage } from 'substrat/provider'
import { type FailureType, failure } from '../../model-http/src/failure.js'
import { retryAfterMs } from '../../model-http/src/retry-after.js'
import { failureOfText } from '../../program-lines/src/failure-text.js'
import { countOf, objectOf, objectsOf, textOf } from '../../program-lines/src/json.js'

export interface Answered {
  reply: string
  usage: Usage
  /** Why it ended; undefined where it has not. */
  finish: string | undefined
  error: JsonObject | undefined
}

/** Undefined where there is no answer to the prompt at all. The reply is its last message. */
export function answerTo(messages: JsonObject[], promptId: string): Answered | undefined {
  const answers = messages.filter(({ info }) => {
    const { role, parentID } = objectOf(info) ?? {}
    return role === 'assistant' && parentID === promptId
  })
  const last = answers.at(-1)
  if (last === undefined) return undefined
  const info = objectOf(last.info) ?? {}
  const texts = answers.map(textIn)
  return {
    reply: textIn(last) || (texts.findLast((text) => text.trim() !== '') ?? ''),
    usage: answers.map(usageOf).reduce(sum, { input_tokens: 0, output_tokens: 0 }),
    finish: countOf(objectOf(info.time)?.completed) > 0 ? textOf(info.finish) : undefined,
    error: objectOf(info.error),
  }
}

const FAILURES: Record<string, FailureType> = {
  ProviderAuthError: 'authentication',
  ContextOverflowError: 'overflow',
  ContentFilterError: 'invalid',
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

/** How a turn ends whose answer is whole. */
export function* endOf({ reply, usage, finish, error }: Answered): Iterable<AgentEvent> {
  if (error !== undefined && error.name !== 'MessageOutputLengthError') throw failureOfError(error)
  if (usage.input_tokens + usage.output_tokens > 0) yield { type: 'usage', usage }
  if (finish === 'length' || error !== undefined) {
    yield { type: 'note', text: 'the reply was cut short: the model reached the most tokens of a response' }
  } else if (finish === 'content-filter') {
    throw failure('invalid', 'the model refused to go on (content filter)')
  } else if (finish === undefined) {
    throw failure('crashed', 'opencode ended the turn without an answer')
  }
  yield { type: 'done', reply }
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
