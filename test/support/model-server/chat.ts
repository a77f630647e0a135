/** Chat Completions: its refusals and its stream format. */
import type OpenAI from 'openai'
import {
  type Dialect,
  hasLoneSurrogate,
  isJsonObject,
  isObject,
  isText,
  type Json,
  objects,
  type SentEvent,
  TOOL_NAME,
  unknownKey,
} from './dialect.js'
import { bearerOf, openaiError } from './openai-errors.js'
import { type Issued, nonceOf, partsOf } from './reasoning.js'
import { inputOf, pieces, type ScriptedAnswer } from './scenario.js'

type Chunk = OpenAI.Chat.ChatCompletionChunk

const KEYS = [
  'model',
  'messages',
  'stream',
  'stream_options',
  'tools',
  'max_tokens',
  'max_completion_tokens',
  'temperature',
  'reasoning_effort',
] as const satisfies readonly (keyof OpenAI.Chat.ChatCompletionCreateParamsStreaming)[]

export const chat: Dialect = {
  refusal: (body, issued) => requestRefusal(body) ?? historyRefusal(objects(body.messages), issued),
  responsesIn: ({ messages }) => objects(messages).filter(({ role }) => role === 'assistant').length,
  latestUserText: ({ messages }) =>
    String(
      objects(messages)
        .filter(({ role }) => role === 'user')
        .at(-1)?.content ?? '',
    ),
  keyOf: bearerOf,
  events,
  error: openaiError,
  errorEvent: (kind, message) => ({ data: JSON.stringify(openaiError(kind, message).body) }),
}

function requestRefusal(body: Json): string | undefined {
  const unknown = unknownKey(body, KEYS)
  if (unknown !== undefined) return `Unrecognized request argument supplied: ${unknown}`
  if (!isText(body.model)) return 'you must provide a model parameter'
  if (body.stream !== true) return 'this server only streams'
  if (hasLoneSurrogate(body)) return 'We could not parse the JSON body of your request.'
  if (body.tools !== undefined && objects(body.tools).length === 0) return "[] is too short - 'tools'"
  for (const [i, { type, function: tool }] of objects(body.tools).entries()) {
    if (type !== 'function' || !isObject(tool)) return `Missing required parameter: 'tools[${i}].function'.`
    if (!TOOL_NAME.test(String(tool.name))) return `Invalid 'tools[${i}].function.name'`
    if (!isObject(tool.parameters) || tool.parameters.type !== 'object') {
      return `Invalid schema for function '${tool.name}': schema must be of type "object"`
    }
  }
  return undefined
}

function historyRefusal(messages: Json[], issued: Issued): string | undefined {
  if (messages.length === 0) return "[] is too short - 'messages'"
  if (messages.find(({ role }) => role !== 'system')?.role !== 'user')
    return 'the first message is not from the user'
  let open: unknown[] = []
  for (const [i, message] of messages.entries()) {
    const { role, content } = message
    if (open.length > 0 && role !== 'tool') {
      return `An assistant message with 'tool_calls' must be followed by tool messages responding to each 'tool_call_id'. The following tool_call_ids did not have response messages: ${open.join(', ')}`
    }
    if (role === 'tool') {
      if (typeof content !== 'string') return `Invalid value for 'messages[${i}].content': expected a string`
      if (!open.includes(message.tool_call_id)) {
        return `Invalid parameter: messages with role 'tool' must be a response to a preceding message with 'tool_calls' (messages[${i}]).`
      }
      open = open.filter((id) => id !== message.tool_call_id)
    } else if (role === 'assistant') {
      const refusal = assistantRefusal(message, i) ?? reasoningRefusal(message, i, issued)
      if (refusal !== undefined) return refusal
      open = objects(message.tool_calls).map(({ id }) => id)
    } else if (role !== 'user' && role !== 'system') {
      return `Invalid value: '${role}'. Supported values are: 'system', 'assistant', 'user' and 'tool'.`
    } else if (!isText(content)) {
      return `Invalid value for 'messages[${i}].content': it is empty`
    }
  }
  return open.length > 0 ? `tool_call_ids did not have response messages: ${open.join(', ')}` : undefined
}

function assistantRefusal({ content, tool_calls }: Json, i: number): string | undefined {
  const calls = objects(tool_calls)
  if (tool_calls !== undefined && calls.length === 0) return `[] is too short - 'messages.${i}.tool_calls'`
  if (calls.length === 0 && !isText(content)) {
    return `Invalid value for 'messages[${i}].content': expected a string, got null.`
  }
  if (content === '') return `Invalid value for 'messages[${i}].content': it is empty`
  const ids = calls.map(({ id }) => id)
  if (new Set(ids).size < ids.length) return `Duplicate ids in 'messages[${i}].tool_calls'`
  for (const { id, type, function: called } of calls) {
    if (!isText(id) || id.length > 40) return `Invalid 'messages[${i}].tool_calls[].id': maximum length 40`
    if (type !== 'function' || !isObject(called))
      return `Missing required parameter: 'messages[${i}].tool_calls[].function'`
    if (!TOOL_NAME.test(String(called.name))) return `Invalid 'messages[${i}].tool_calls[].function.name'`
    if (!isJsonObject(called.arguments)) return `Invalid 'messages[${i}].tool_calls[].function.arguments'`
  }
  return undefined
}

function reasoningRefusal(
  { tool_calls, reasoning_content }: Json,
  i: number,
  issued: Issued,
): string | undefined {
  const sent = issued.get(String(objects(tool_calls)[0]?.id))?.[0]?.reasoning_content
  return sent === undefined || sent === reasoning_content
    ? undefined
    : `The \`reasoning_content\` in the thinking mode must be passed back to the API: messages[${i}] has ${reasoning_content === undefined ? 'none' : 'another one'}.`
}

function events(answer: ScriptedAnswer, place: number, body: Json, issued: Issued): SentEvent[] {
  const shared = {
    id: `chatcmpl-${place}`,
    object: 'chat.completion.chunk' as const,
    created: 0,
    model: String(body.model),
  }
  const chunk = (
    delta: Chunk['choices'][number]['delta'],
    finish_reason: Chunk['choices'][number]['finish_reason'] = null,
  ): Chunk => ({
    ...shared,
    choices: [{ index: 0, delta, finish_reason }],
  })
  const nonce = nonceOf(answer)
  const thoughts = partsOf(answer).flatMap((part) =>
    typeof part === 'string' ? [] : ['think' in part ? part.think : part.redacted],
  )
  const reasoning = thoughts.length === 0 ? '' : `${thoughts.join('')}${nonce}`
  const calls = callChunks(answer, `${place}${nonce}`)
  if (reasoning !== '')
    for (const { id } of calls) if (id !== undefined) issued.set(id, [{ reasoning_content: reasoning }])
  const textField = answer.stop === 'refusal' ? 'refusal' : 'content'
  const chunks = [
    chunk({ role: 'assistant', content: '' }),
    ...pieces(reasoning, answer).map((text) => chunk({ reasoning_content: text } as object)),
    ...pieces(answer.text ?? '', answer).map((text) => chunk({ [textField]: text })),
    ...calls.map((call) => chunk({ tool_calls: [call] })),
    chunk({}, finishReason(answer)),
    ...(isObject(body.stream_options) && body.stream_options.include_usage === true
      ? [{ ...shared, choices: [], usage: usageOf(answer) } satisfies Chunk]
      : []),
  ]
  return [...chunks.map((value) => ({ data: JSON.stringify(value) })), { data: '[DONE]' }]
}

/** All calls begin first, then their pieces alternate: only the index distinguishes parallel calls. */
function callChunks(
  answer: ScriptedAnswer,
  place: string,
): OpenAI.Chat.ChatCompletionChunk.Choice.Delta.ToolCall[] {
  const calls = answer.tool_calls ?? []
  const inputs = calls.map((call) => pieces(inputOf(call), answer))
  const rounds = Math.max(0, ...inputs.map((input) => input.length))
  return [
    ...calls.map(({ name }, index) => ({
      index,
      id: `call_${place}_${index}`,
      type: 'function' as const,
      function: { name, arguments: '' },
    })),
    ...Array.from({ length: rounds }, (_, round) =>
      inputs.flatMap((input, index) =>
        input[round] === undefined ? [] : [{ index, function: { arguments: input[round] } }],
      ),
    ).flat(),
  ]
}

function usageOf({ usage }: ScriptedAnswer): OpenAI.CompletionUsage {
  const { input_tokens = 0, cached_tokens = 0, output_tokens = 0 } = usage ?? {}
  const prompt_tokens = input_tokens + cached_tokens
  return {
    prompt_tokens,
    completion_tokens: output_tokens,
    total_tokens: prompt_tokens + output_tokens,
    prompt_tokens_details: { cached_tokens },
  }
}

function finishReason({ stop, tool_calls }: ScriptedAnswer): Chunk['choices'][number]['finish_reason'] {
  if (stop === 'length') return 'length'
  if (stop === 'filter') return 'content_filter'
  return tool_calls !== undefined && tool_calls.length > 0 ? 'tool_calls' : 'stop'
}
