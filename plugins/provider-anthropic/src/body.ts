/**
 * Builds the body of a request to the Messages API.
 *
 * Invariants:
 * - Roles alternate and begin with the user.
 * - No text is empty.
 * - The results of one response are the first blocks of the next message.
 * - A history with tool calls is never sent without a list of tools.
 * - Thinking blocks go back as they came, in their places.
 */
import type Anthropic from '@anthropic-ai/sdk'
import type { ModelMessage, ModelRequest } from 'substrat/provider'
import { isBlank, NOTHING, wireHistory } from '../../shared/src/model/history.js'
import { type Part, partsOf } from '../../shared/src/model/layout.js'
import type { Endpoint } from '../../shared/src/model/settings.js'
import type { Settings } from './settings.js'

/** The SDK's types omit `temperature`, because the newest models reject it. Older models accept it. */
type Body = Anthropic.MessageCreateParamsStreaming & { temperature?: number }

type Thinking = Anthropic.ThinkingBlockParam | Anthropic.RedactedThinkingBlockParam
type Content = (
  | Anthropic.TextBlockParam
  | Anthropic.ToolUseBlockParam
  | Anthropic.ToolResultBlockParam
  | Thinking
)[]
type Message = { role: 'user' | 'assistant'; content: Content }

const ID_CHARACTERS_MAX = 64
/** Stands for the compacted beginning if the history begins with an assistant message. */
const EARLIER = '(The conversation before this is omitted.)'

export function messagesBody(request: ModelRequest, settings: Settings): Body {
  const history = wireHistory(request.messages(), { idCharactersMax: ID_CHARACTERS_MAX })
  const messages = mergedMessages(history, settings.endpoint)
  if (settings.isCached) markForCache(messages)
  return {
    model: settings.model,
    max_tokens: settings.maxTokens,
    stream: true,
    messages,
    ...thinkingOf(settings, messages),
    ...(request.instructions !== null && !isBlank(request.instructions) && { system: request.instructions }),
    ...(settings.temperature !== undefined && { temperature: settings.temperature }),
    ...toolsOf(request, history),
  }
}

function mergedMessages(history: ModelMessage[], endpoint: Endpoint): Message[] {
  const messages: Message[] = []
  for (const message of history) {
    const role = message.role === 'assistant' ? 'assistant' : 'user'
    if (messages.length === 0 && role === 'assistant') {
      messages.push({ role: 'user', content: [{ type: 'text', text: EARLIER }] })
    }
    const latest = messages.at(-1)
    if (latest?.role === role) latest.content.push(...blocksOf(message, endpoint))
    else messages.push({ role, content: blocksOf(message, endpoint) })
  }
  return messages
}

function blocksOf(message: ModelMessage, endpoint: Endpoint): Content {
  if (message.role === 'user')
    return [{ type: 'text', text: isBlank(message.content) ? NOTHING : message.content }]
  if (message.role === 'tool') {
    const { call_id, content, is_error } = message
    return [
      {
        type: 'tool_result',
        tool_use_id: call_id,
        content: isBlank(content) ? NOTHING : content,
        ...(is_error && { is_error }),
      },
    ]
  }
  return partsOf(message, endpoint).map(blockOf)
}

function blockOf(part: Part): Content[number] {
  if (part.kind === 'text') return { type: 'text', text: part.text }
  if (part.kind === 'reasoning') return part.reasoning as unknown as Thinking
  const { call_id, name, input } = part.call
  return { type: 'tool_use', id: call_id, name, input }
}

/**
 * With a budget, a turn with tool calls must have begun with thinking. A turn that began without it, before the option was set or
 * with another server, therefore ends without it.
 */
function thinkingOf({ thinking }: Settings, messages: Message[]): Pick<Body, 'thinking' | 'output_config'> {
  if (thinking === undefined) return {}
  if (thinking.type === 'off') return { thinking: { type: 'disabled' } }
  if (thinking.type === 'effort')
    return { thinking: { type: 'adaptive' }, output_config: { effort: thinking.effort } }
  const begin = messages.findLastIndex(
    ({ role, content }) => role === 'user' && !content.some(({ type }) => type === 'tool_result'),
  )
  const first = messages[begin + 1]?.content[0]?.type ?? 'thinking'
  const mayThink = first === 'thinking' || first === 'redacted_thinking'
  return mayThink ? { thinking: { type: 'enabled', budget_tokens: thinking.budget } } : {}
}

/** The API caches everything up to this block. The next request begins with the same content. */
function markForCache(messages: Message[]): void {
  const block = messages.at(-1)?.content.at(-1)
  if (
    block !== undefined &&
    'type' in block &&
    block.type !== 'thinking' &&
    block.type !== 'redacted_thinking'
  )
    block.cache_control = { type: 'ephemeral' }
}

/** A request without tools must still declare the tools whose calls are in the history. */
function toolsOf({ tools }: ModelRequest, history: ModelMessage[]): Pick<Body, 'tools' | 'tool_choice'> {
  if (tools.length > 0) {
    return {
      tools: tools.map(({ name, description, input_schema }) => ({
        name,
        description,
        input_schema: { ...input_schema, type: 'object' },
      })),
    }
  }
  const names = history.flatMap((message) =>
    message.role === 'assistant' ? message.tool_calls.map(({ name }) => name) : [],
  )
  if (names.length === 0) return {}
  return {
    tools: [...new Set(names)].map((name) => ({ name, input_schema: { type: 'object' } })),
    tool_choice: { type: 'none' },
  }
}
