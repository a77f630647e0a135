/** The Messages API: its refusals and its stream format. */
import type Anthropic from '@anthropic-ai/sdk'
import {
  type Dialect,
  hasLoneSurrogate,
  isObject,
  isText,
  type Json,
  objects,
  type SentEvent,
  TOOL_NAME,
  unknownKey,
} from './dialect.js'
import { changedResponse, type Issued, nonceOf, partsOf, sealed } from './reasoning.js'
import { type ErrorKind, inputOf, pieces, type ScriptedAnswer, type ScriptedCall } from './scenario.js'

const KEYS = [
  'model',
  'max_tokens',
  'messages',
  'stream',
  'system',
  'temperature',
  'tools',
  'tool_choice',
  'thinking',
  'output_config',
] as const satisfies readonly (keyof Anthropic.MessageCreateParamsStreaming | 'temperature')[]

const ERRORS: Record<ErrorKind, [status: number, type: Anthropic.ErrorType]> = {
  invalid: [400, 'invalid_request_error'],
  unbound: [400, 'invalid_request_error'],
  authentication: [401, 'authentication_error'],
  permission: [403, 'permission_error'],
  quota: [400, 'invalid_request_error'],
  not_found: [404, 'not_found_error'],
  overflow: [400, 'invalid_request_error'],
  too_large: [413, 'invalid_request_error'],
  rate_limit: [429, 'rate_limit_error'],
  server_error: [500, 'api_error'],
  overloaded: [529, 'overloaded_error'],
}

export const anthropic: Dialect = {
  refusal: (body, issued) =>
    requestRefusal(body) ?? toolsRefusal(body) ?? historyRefusal(body, issued) ?? thinkingRefusal(body),
  responsesIn: ({ messages }) => objects(messages).filter(({ role }) => role === 'assistant').length,
  latestUserText({ messages }) {
    const texts = objects(messages)
      .filter(({ role }) => role === 'user')
      .flatMap(({ content }) => blocksOf(content))
      .filter(({ type }) => type === 'text')
    return String(texts.at(-1)?.text ?? '')
  },
  keyOf: (headers) => headers['x-api-key'] as string | undefined,
  events,
  error(kind, message) {
    const [status, type] = ERRORS[kind]
    return { status, body: { type: 'error', error: { type, message }, request_id: 'req_1' } }
  },
  errorEvent(kind, message) {
    return {
      name: 'error',
      data: JSON.stringify({ type: 'error', error: { type: ERRORS[kind][1], message } }),
    }
  },
}

function requestRefusal(body: Json): string | undefined {
  const unknown = unknownKey(body, KEYS)
  if (unknown !== undefined) return `${unknown}: Extra inputs are not permitted`
  if (!isText(body.model)) return 'model: Field required'
  if (!Number.isInteger(body.max_tokens) || Number(body.max_tokens) < 1) return 'max_tokens: Field required'
  if (body.stream !== true) return 'stream: this server only streams'
  if (body.system !== undefined && !isText(body.system))
    return 'system: text content blocks must be non-empty'
  if (body.temperature !== undefined && !(Number(body.temperature) >= 0 && Number(body.temperature) <= 1)) {
    return 'temperature: must be from 0 to 1'
  }
  if (hasLoneSurrogate(body)) return 'The request body is not valid JSON: no low surrogate in string'
  return undefined
}

function toolsRefusal(body: Json): string | undefined {
  const tools = objects(body.tools)
  if (body.tools !== undefined && tools.length === 0) return 'tools: must not be empty'
  const names = tools.map(({ name }) => name)
  if (new Set(names).size < names.length) return 'tools: Tool names must be unique.'
  for (const [i, { name, input_schema }] of tools.entries()) {
    if (!TOOL_NAME.test(String(name))) return `tools.${i}.name: String should match the pattern`
    if (!isObject(input_schema) || input_schema.type !== 'object')
      return `tools.${i}.input_schema.type: Field required`
  }
  const hasCalls = objects(body.messages).some(({ content }) =>
    blocksOf(content).some(({ type }) => type === 'tool_use' || type === 'tool_result'),
  )
  if (hasCalls && tools.length === 0) {
    return 'Requests which include `tool_use` or `tool_result` blocks must define tools.'
  }
  return undefined
}

function historyRefusal(body: Json, issued: Issued): string | undefined {
  const messages = objects(body.messages)
  if (messages.length === 0) return 'messages: at least one message is required'
  if (messages[0]?.role !== 'user') return 'messages: first message must use the "user" role'
  if (messages.at(-1)?.role !== 'user') return 'This model does not support assistant message prefill.'
  const ids = new Set<unknown>()
  let cacheMarks = 0
  let open: unknown[] = []
  for (const [i, message] of messages.entries()) {
    if (message.role !== (i % 2 === 0 ? 'user' : 'assistant')) {
      return `messages.${i}: roles must be "user" and "assistant" in turn, but found "${message.role}"`
    }
    const blocks = blocksOf(message.content)
    if (blocks.length === 0) return `messages.${i}: all messages must have non-empty content`
    if (message.role === 'assistant' && /thinking$/.test(String(blocks.at(-1)?.type)))
      return `messages.${i}: The final block in an assistant message cannot be \`${blocks.at(-1)?.type}\`.`
    const refusal =
      resultsRefusal(blocks, open, i) ??
      blocks.map((block) => blockRefusal(block, message.role, i)).find(isText)
    if (refusal !== undefined) return refusal
    open = blocks.filter(({ type }) => type === 'tool_use').map(({ id }) => id)
    const changed = changedResponse(blocks, open, issued)
    if (changed !== undefined)
      return `messages.${i}: \`thinking\` or \`redacted_thinking\` blocks in the assistant message cannot be modified: ${changed}`
    for (const id of open) {
      if (ids.has(id)) return `messages.${i}: \`tool_use\` ids must be unique`
      ids.add(id)
    }
    cacheMarks += blocks.filter(({ cache_control }) => cache_control !== undefined).length
  }
  return cacheMarks > 4 ? 'A maximum of 4 blocks with cache_control may be provided.' : undefined
}

/** A budget, or an effort, and the rule for a turn that goes on after tool results. */
function thinkingRefusal({
  thinking,
  max_tokens,
  temperature,
  output_config,
  messages,
}: Json): string | undefined {
  if (thinking === undefined) return undefined
  if (!isObject(thinking)) return 'thinking: Input should be an object'
  if (thinking.type === 'disabled') return undefined
  if (temperature !== undefined && temperature !== 1)
    return '`temperature` may only be set to 1 when thinking is enabled.'
  if (thinking.type === 'adaptive') {
    const { effort } = isObject(output_config) ? output_config : {}
    return ['low', 'medium', 'high', 'xhigh', 'max'].includes(String(effort))
      ? undefined
      : 'output_config.effort: Input should be low, medium, high, xhigh or max'
  }
  if (thinking.type !== 'enabled') return 'thinking.type: Input should be enabled, disabled or adaptive'
  if (!(Number(thinking.budget_tokens) >= 1024))
    return 'thinking.enabled.budget_tokens: Input should be greater than or equal to 1024'
  if (Number(thinking.budget_tokens) >= Number(max_tokens))
    return '`max_tokens` must be greater than `thinking.budget_tokens`.'
  const history = objects(messages)
  const begin = history.findLastIndex(
    ({ role, content }) => role === 'user' && !blocksOf(content).some(({ type }) => type === 'tool_result'),
  )
  const first = blocksOf(history[begin + 1]?.content)[0]
  return first === undefined || /thinking$/.test(String(first.type))
    ? undefined
    : `messages.${begin + 1}.content.0.type: Expected \`thinking\` or \`redacted_thinking\`, but found \`${first.type}\`. When \`thinking\` is enabled, a final \`assistant\` message must start with a thinking block.`
}

/** `open` holds the calls of the previous message. Their results must come first, each once, and no others. */
function resultsRefusal(blocks: Json[], open: unknown[], i: number): string | undefined {
  const results = blocks.filter(({ type }) => type === 'tool_result').map((block) => block.tool_use_id)
  const missing = open.filter((id) => !results.includes(id))
  if (missing.length > 0) {
    return `messages.${i - 1}: \`tool_use\` ids were found without \`tool_result\` blocks immediately after: ${missing.join(', ')}.`
  }
  const foreign = results.find((id) => !open.includes(id))
  if (foreign !== undefined) {
    return `messages.${i}: unexpected \`tool_use_id\` found in \`tool_result\` blocks: ${foreign}.`
  }
  if (new Set(results).size < results.length) return `messages.${i}: each tool_use must have a single result`
  const first = blocks.slice(0, results.length)
  if (first.some(({ type }) => type !== 'tool_result'))
    return `messages.${i}: tool_result blocks must come first`
  return undefined
}

function blockRefusal(block: Json, role: unknown, i: number): string | undefined {
  if (block.type === 'text') {
    return isText(block.text)
      ? undefined
      : `messages.${i}: text content blocks must contain non-whitespace text`
  }
  if (block.type === 'thinking' && role === 'assistant') {
    return block.signature === sealed(String(block.thinking))
      ? undefined
      : `messages.${i}: Invalid \`signature\` in \`thinking\` block`
  }
  if (block.type === 'redacted_thinking' && role === 'assistant') {
    const [, text = '', seal] = /^(.*)\.([^.]*)$/s.exec(String(block.data)) ?? []
    return seal === sealed(text)
      ? undefined
      : `messages.${i}: Invalid \`data\` in \`redacted_thinking\` block`
  }
  if (block.type === 'tool_use' && role === 'assistant') {
    if (!/^[a-zA-Z0-9_-]+$/.test(String(block.id)))
      return `messages.${i}: tool_use.id: String should match the pattern`
    if (!TOOL_NAME.test(String(block.name)))
      return `messages.${i}: tool_use.name: String should match the pattern`
    return isObject(block.input) ? undefined : `messages.${i}: tool_use.input: Input should be an object`
  }
  if (block.type === 'tool_result' && role === 'user') {
    if (typeof block.content !== 'string')
      return `messages.${i}: tool_result.content: Input should be a string`
    return block.is_error === true && !isText(block.content)
      ? `messages.${i}: tool_result: content cannot be empty if is_error is true`
      : undefined
  }
  return `messages.${i}: a block of type ${block.type} is not allowed in a message of the ${role}`
}

function blocksOf(content: unknown): Json[] {
  return typeof content === 'string' ? [{ type: 'text', text: content }] : objects(content)
}

function events(answer: ScriptedAnswer, place: number, body: Json, issued: Issued): SentEvent[] {
  const { input_tokens = 0, cached_tokens = 0, output_tokens = 0 } = answer.usage ?? {}
  const counts = {
    input_tokens,
    cache_creation_input_tokens: 0,
    cache_read_input_tokens: cached_tokens,
    output_tokens_details: null,
    server_tool_use: null,
  }
  const blocks = blocksFor(answer, place, issued)
  return [
    {
      type: 'message_start',
      message: {
        id: `msg_${place}`,
        type: 'message',
        role: 'assistant',
        model: String(body.model),
        content: [],
        container: null,
        diagnostics: null,
        stop_details: null,
        stop_reason: null,
        stop_sequence: null,
        usage: {
          ...counts,
          output_tokens: 1,
          cache_creation: null,
          inference_geo: null,
          service_tier: 'standard',
          speed: null,
        },
      },
    } satisfies Anthropic.RawMessageStartEvent,
    { type: 'ping' } as const,
    ...blocks.flatMap((block, index) => block(index)),
    {
      type: 'message_delta',
      delta: { container: null, stop_details: null, stop_reason: stopReason(answer), stop_sequence: null },
      usage: { ...counts, output_tokens },
    } satisfies Anthropic.RawMessageDeltaEvent,
    { type: 'message_stop' } satisfies Anthropic.RawMessageStopEvent,
  ].map((event) => ({ name: event.type, data: JSON.stringify(event) }))
}

function blocksFor(answer: ScriptedAnswer, place: number, issued: Issued): BlockEvents[] {
  const nonce = nonceOf(answer)
  const calls = answer.tool_calls ?? []
  const idOf = (n: number): string => `toolu_${place}_${n}${nonce}`
  const sent: Json[] = []
  let n = 0
  const blocks = partsOf(answer).map((part): BlockEvents => {
    if (part === 'text') {
      if (isText(answer.text)) sent.push({ type: 'text', text: answer.text })
      return (index) => textBlock(index, answer)
    }
    if (part === 'call') {
      const [call, id] = [calls[n] as ScriptedCall, idOf(n)]
      n += 1
      sent.push({ type: 'tool_use', id, name: call.name, input: call.input ?? {} })
      return (index) => callBlock(index, answer, call, id)
    }
    if ('redacted' in part) {
      const text = `${part.redacted}${nonce}`
      const block = { type: 'redacted_thinking' as const, data: `${text}.${sealed(text)}` }
      sent.push(block)
      return (index) => [
        { type: 'content_block_start', index, content_block: block },
        { type: 'content_block_stop', index },
      ]
    }
    const thinking = `${part.think}${nonce}`
    const block = { type: 'thinking' as const, thinking, signature: sealed(thinking) }
    sent.push(block)
    return (index) => thinkingBlock(index, answer, block)
  })
  if (nonce !== '') for (const at of calls.keys()) issued.set(idOf(at), sent)
  return blocks
}

function thinkingBlock(
  index: number,
  answer: ScriptedAnswer,
  { thinking, signature }: { thinking: string; signature: string },
): Anthropic.RawMessageStreamEvent[] {
  return [
    { type: 'content_block_start', index, content_block: { type: 'thinking', thinking: '', signature: '' } },
    ...pieces(thinking, answer).map((piece) => ({
      type: 'content_block_delta' as const,
      index,
      delta: { type: 'thinking_delta' as const, thinking: piece, estimated_tokens: null },
    })),
    { type: 'content_block_delta', index, delta: { type: 'signature_delta', signature } },
    { type: 'content_block_stop', index },
  ]
}

type BlockEvents = (index: number) => Anthropic.RawMessageStreamEvent[]

function textBlock(index: number, answer: ScriptedAnswer): Anthropic.RawMessageStreamEvent[] {
  return [
    { type: 'content_block_start', index, content_block: { type: 'text', text: '', citations: null } },
    ...pieces(answer.text ?? '', answer).map((text) => ({
      type: 'content_block_delta' as const,
      index,
      delta: { type: 'text_delta' as const, text },
    })),
    { type: 'content_block_stop', index },
  ]
}

function callBlock(
  index: number,
  answer: ScriptedAnswer,
  call: NonNullable<ScriptedAnswer['tool_calls']>[number],
  id: string,
): Anthropic.RawMessageStreamEvent[] {
  const { name } = call
  return [
    {
      type: 'content_block_start',
      index,
      content_block: { type: 'tool_use', id, name, input: {}, caller: { type: 'direct' } },
    },
    // The API begins with an empty piece.
    ...['', ...pieces(inputOf(call), answer)].map((partial_json) => ({
      type: 'content_block_delta' as const,
      index,
      delta: { type: 'input_json_delta' as const, partial_json },
    })),
    { type: 'content_block_stop', index },
  ]
}

function stopReason({ stop, tool_calls }: ScriptedAnswer): Anthropic.StopReason {
  if (stop === 'length') return 'max_tokens'
  if (stop === 'refusal' || stop === 'filter') return 'refusal'
  return tool_calls !== undefined && tool_calls.length > 0 ? 'tool_use' : 'end_turn'
}
