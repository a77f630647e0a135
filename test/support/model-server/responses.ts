/** The Responses API: its refusals and its stream format. */
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
import { bearerOf, codeOf, openaiError } from './openai-errors.js'
import { changedResponse, type Issued, nonceOf, partsOf, sealed } from './reasoning.js'
import { inputOf, pieces, type ScriptedAnswer, type ScriptedCall, type ScriptedPart } from './scenario.js'

type Response = OpenAI.Responses.Response
type Item = OpenAI.Responses.ResponseOutputItem
type Event = OpenAI.Responses.ResponseStreamEvent
/** Events before they are numbered. */
type Unnumbered = Event extends infer E
  ? E extends { sequence_number: number }
    ? Omit<E, 'sequence_number'>
    : never
  : never

const KEYS = [
  'model',
  'input',
  'stream',
  'store',
  'instructions',
  'tools',
  'max_output_tokens',
  'temperature',
  'reasoning',
  'include',
] as const satisfies readonly (keyof OpenAI.Responses.ResponseCreateParamsStreaming)[]

export const responses: Dialect = {
  refusal: (body, issued) => requestRefusal(body) ?? historyRefusal(objects(body.input), issued),
  // The items of one response are adjacent.
  responsesIn: ({ input }) =>
    objects(input).filter((item, i, items) => isFromModel(item) && !isFromModel(items[i - 1])).length,
  latestUserText: ({ input }) =>
    String(
      objects(input)
        .filter(({ role }) => role === 'user')
        .at(-1)?.content ?? '',
    ),
  keyOf: bearerOf,
  events,
  error: openaiError,
  errorEvent(kind, message) {
    const event: OpenAI.Responses.ResponseErrorEvent = {
      type: 'error',
      code: codeOf(kind),
      message,
      param: null,
      sequence_number: 99,
    }
    return { name: 'error', data: JSON.stringify(event) }
  },
}

function isFromModel(item: Json | undefined): boolean {
  return item?.role === 'assistant' || item?.type === 'function_call' || item?.type === 'reasoning'
}

function requestRefusal(body: Json): string | undefined {
  const unknown = unknownKey(body, KEYS)
  if (unknown !== undefined) return `Unknown parameter: '${unknown}'.`
  if (!isText(body.model)) return "Missing required parameter: 'model'."
  if (body.stream !== true) return 'this server only streams'
  if (body.include !== undefined && JSON.stringify(body.include) !== '["reasoning.encrypted_content"]')
    return "Invalid value: 'include'."
  if (hasLoneSurrogate(body)) return 'We could not parse the JSON body of your request.'
  for (const [i, tool] of objects(body.tools).entries()) {
    if (tool.type !== 'function' || !TOOL_NAME.test(String(tool.name))) return `Invalid 'tools[${i}].name'`
    if (!isObject(tool.parameters) || tool.parameters.type !== 'object') {
      return `Invalid schema for function '${tool.name}': schema must be of type "object"`
    }
  }
  return undefined
}

function historyRefusal(items: Json[], issued: Issued): string | undefined {
  if (items.length === 0) return "Missing required parameter: 'input'."
  if (items[0]?.role !== 'user') return 'the first item is not from the user'
  const ids = new Set<unknown>()
  const open = new Set<unknown>()
  for (const [i, item] of items.entries()) {
    if (item.type === 'function_call') {
      if (!isText(item.call_id) || item.call_id.length > 64)
        return `Invalid 'input[${i}].call_id': maximum length 64`
      if (ids.has(item.call_id)) return `Duplicate function call id ${item.call_id}.`
      if (!TOOL_NAME.test(String(item.name))) return `Invalid 'input[${i}].name'`
      if (!isJsonObject(item.arguments)) return `Invalid 'input[${i}].arguments'`
      ids.add(item.call_id)
      open.add(item.call_id)
      if (!isFromModel(items[i + 1])) {
        const begin = items.slice(0, i).findLastIndex((earlier) => !isFromModel(earlier)) + 1
        const changed = changedResponse(items.slice(begin, i + 1), [item.call_id], issued)
        if (changed !== undefined) return `Invalid 'input[${i}]': ${changed}`
      }
    } else if (item.type === 'reasoning') {
      const refusal = reasoningRefusal(item, items[i + 1], i)
      if (refusal !== undefined) return refusal
    } else if (item.type === 'message' && item.role === 'assistant' && Array.isArray(item.content)) {
      if (
        !isText(item.id) ||
        !objects(item.content).every(({ type, text }) => type === 'output_text' && isText(text))
      )
        return `Invalid 'input[${i}].content'`
    } else if (item.type === 'function_call_output') {
      if (typeof item.output !== 'string') return `Invalid type for 'input[${i}].output'`
      if (!open.delete(item.call_id))
        return `No tool call found for function call output with call_id ${item.call_id}.`
    } else if (item.type !== undefined && item.type !== 'message') {
      return `Invalid value: '${item.type}' for 'input[${i}].type'.`
    } else if (item.role !== 'user' && item.role !== 'assistant') {
      return `Invalid value: '${item.role}' for 'input[${i}].role'.`
    } else if (!isText(item.content)) {
      return `Invalid value for 'input[${i}].content': it is empty`
    } else if (open.size > 0) {
      return `No tool output found for function call ${[...open].join(', ')}.`
    }
  }
  return open.size > 0 ? `No tool output found for function call ${[...open].join(', ')}.` : undefined
}

/** The API stores nothing, so an item without its encrypted content names something that it does not have. */
function reasoningRefusal(item: Json, next: Json | undefined, i: number): string | undefined {
  const { id, encrypted_content, summary } = item
  if (!isText(encrypted_content))
    return `Item with id '${id}' not found. Items are not persisted when \`store\` is set to false.`
  if (encrypted_content !== sealed(String(id), JSON.stringify(summary)))
    return `The encrypted content for item ${id} could not be verified.`
  return isFromModel(next)
    ? undefined
    : `Item '${id}' of type 'reasoning' was provided without its required following item (input[${i}]).`
}

function events(answer: ScriptedAnswer, place: number, body: Json, issued: Issued): SentEvent[] {
  const outputs = outputsFor(answer, place, body)
  if (nonceOf(answer) !== '' && body.include !== undefined) {
    const sent = outputs.map(({ item }) => item as unknown as Json)
    for (const { type, call_id } of sent) if (type === 'function_call') issued.set(String(call_id), sent)
  }
  const isFiltered = answer.stop === 'filter'
  const isCut = answer.stop === 'length' || isFiltered
  const response = responseOf(place, body)
  const last: Response = {
    ...response,
    output: outputs.map(({ item }) => item),
    status: isCut ? 'incomplete' : 'completed',
    incomplete_details: isCut ? { reason: isFiltered ? 'content_filter' : 'max_output_tokens' } : null,
    usage: usageOf(answer),
  }
  const all: Unnumbered[] = [
    { type: 'response.created', response },
    { type: 'response.in_progress', response },
    ...outputs.flatMap(({ events }) => events),
    { type: isCut ? 'response.incomplete' : 'response.completed', response: last },
  ]
  return all.map((event, sequence_number) => ({
    name: event.type,
    data: JSON.stringify({ ...event, sequence_number }, withoutClientFields),
  }))
}

interface Output {
  item: Item
  events: Unnumbered[]
}

function outputsFor(answer: ScriptedAnswer, place: number, body: Json): Output[] {
  const nonce = nonceOf(answer)
  let n = 0
  return partsOf(answer).map((part, index) => {
    if (part === 'text') return messageItem(index, answer, `${place}${nonce}`)
    if (part !== 'call')
      return reasoningItem(index, part, `${place}_${index}${nonce}`, body.include !== undefined)
    n += 1
    return callItem(index, answer, answer.tool_calls?.[n - 1] as ScriptedCall, `${place}_${n - 1}${nonce}`)
  })
}

function reasoningItem(
  output_index: number,
  part: Exclude<ScriptedPart, string>,
  suffix: string,
  isIncluded: boolean,
): Output {
  const id = `rs_${suffix}`
  const summary = 'think' in part ? [{ type: 'summary_text' as const, text: part.think }] : []
  const empty: Item = { id, type: 'reasoning', summary: [] }
  const encrypted = isIncluded ? { encrypted_content: sealed(id, JSON.stringify(summary)) } : {}
  const item: Item = { ...empty, summary, ...encrypted }
  const place_ = { item_id: id, output_index, summary_index: 0 }
  const deltas = summary.map(({ text }) => ({
    type: 'response.reasoning_summary_text.delta' as const,
    ...place_,
    delta: text,
  }))
  return {
    item,
    events: [
      { type: 'response.output_item.added', output_index, item: empty },
      ...deltas,
      { type: 'response.output_item.done', output_index, item },
    ],
  }
}

/** The client's types have a field that the client adds and the API does not send. */
function withoutClientFields(key: string, value: unknown): unknown {
  return key === 'output_text' ? undefined : value
}

function messageItem(output_index: number, answer: ScriptedAnswer, suffix: string): Output {
  const id = `msg_${suffix}`
  const text = answer.text ?? ''
  const place_ = { item_id: id, output_index, content_index: 0 }
  const isRefused = answer.stop === 'refusal'
  const part = isRefused
    ? { type: 'refusal' as const, refusal: text }
    : { type: 'output_text' as const, text, annotations: [], logprobs: [] }
  const item: Item = { id, type: 'message', role: 'assistant', status: 'completed', content: [part] }
  return {
    item,
    events: [
      {
        type: 'response.output_item.added',
        output_index,
        item: { ...item, status: 'in_progress', content: [] },
      },
      {
        type: 'response.content_part.added',
        ...place_,
        part: isRefused
          ? { type: 'refusal', refusal: '' }
          : { type: 'output_text', text: '', annotations: [], logprobs: [] },
      },
      ...pieces(text, answer).map(
        (delta): Unnumbered =>
          isRefused
            ? { type: 'response.refusal.delta', ...place_, delta }
            : { type: 'response.output_text.delta', ...place_, delta, logprobs: [] },
      ),
      isRefused
        ? { type: 'response.refusal.done', ...place_, refusal: text }
        : { type: 'response.output_text.done', ...place_, text, logprobs: [] },
      { type: 'response.content_part.done', ...place_, part },
      { type: 'response.output_item.done', output_index, item },
    ],
  }
}

function callItem(output_index: number, answer: ScriptedAnswer, call: ScriptedCall, suffix: string): Output {
  const id = `fc_${suffix}`
  const input = inputOf(call)
  const item: Item = {
    id,
    type: 'function_call',
    call_id: `call_${suffix}`,
    name: call.name,
    arguments: input,
    status: 'completed',
  }
  return {
    item,
    events: [
      {
        type: 'response.output_item.added',
        output_index,
        item: { ...item, arguments: '', status: 'in_progress' },
      },
      ...pieces(input, answer).map((delta) => ({
        type: 'response.function_call_arguments.delta' as const,
        item_id: id,
        output_index,
        delta,
      })),
      {
        type: 'response.function_call_arguments.done',
        item_id: id,
        output_index,
        name: call.name,
        arguments: input,
      },
      { type: 'response.output_item.done', output_index, item },
    ],
  }
}

function responseOf(place: number, body: Json): Response {
  return {
    id: `resp_${place}`,
    object: 'response',
    created_at: 0,
    output_text: '',
    error: null,
    incomplete_details: null,
    instructions: null,
    metadata: {},
    model: String(body.model),
    output: [],
    parallel_tool_calls: true,
    temperature: null,
    tool_choice: 'auto',
    tools: [],
    top_p: null,
    status: 'in_progress',
  }
}

function usageOf({ usage }: ScriptedAnswer): OpenAI.Responses.ResponseUsage {
  const { input_tokens: fresh = 0, cached_tokens = 0, output_tokens = 0 } = usage ?? {}
  const input_tokens = fresh + cached_tokens
  return {
    input_tokens,
    input_tokens_details: { cached_tokens, cache_write_tokens: 0 },
    output_tokens,
    output_tokens_details: { reasoning_tokens: 0 },
    total_tokens: input_tokens + output_tokens,
  }
}
