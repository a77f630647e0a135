/** Builds the body of a request to Chat Completions, for OpenAI and compatible servers. */
import type OpenAI from 'openai'
import type { ModelMessage, ModelRequest } from 'substrat/provider'
import { isBlank, NOTHING } from '../../shared/src/model/history.js'
import { partsOf } from '../../shared/src/model/layout.js'
import type { Endpoint } from '../../shared/src/model/settings.js'
import { instructionsOf, openaiHistory, resultText } from './history.js'
import type { Settings } from './settings.js'

type Body = OpenAI.Chat.ChatCompletionCreateParamsStreaming
type Message = OpenAI.Chat.ChatCompletionMessageParam

export function chatBody(request: ModelRequest, settings: Settings): Body {
  const { model, temperature, effort } = settings
  const instructions = instructionsOf(request)
  return {
    model,
    stream: true,
    stream_options: { include_usage: true },
    messages: [
      ...(instructions === undefined ? [] : [{ role: 'system', content: instructions } satisfies Message]),
      ...openaiHistory(request).map((message) => messageOf(message, settings.endpoint)),
    ],
    ...(request.tools.length > 0 && { tools: request.tools.map(toolOf) }),
    ...tokenLimit(settings),
    ...(temperature !== undefined && { temperature }),
    ...(effort !== undefined && { reasoning_effort: effort }),
  }
}

/** OpenAI's newer models reject the old name; many other servers know only that one. */
function tokenLimit({ maxTokens, isOpenAI }: Settings): Pick<Body, 'max_tokens' | 'max_completion_tokens'> {
  if (maxTokens === undefined) return {}
  return isOpenAI ? { max_completion_tokens: maxTokens } : { max_tokens: maxTokens }
}

function messageOf(message: ModelMessage, endpoint: Endpoint): Message {
  if (message.role === 'user')
    return { role: 'user', content: isBlank(message.content) ? NOTHING : message.content }
  if (message.role === 'tool')
    return { role: 'tool', tool_call_id: message.call_id, content: resultText(message) }
  const content = isBlank(message.content) ? null : message.content
  const reasoning = partsOf(message, endpoint).find(({ kind }) => kind === 'reasoning')
  // The server's own field, as it sent it.
  const own = reasoning?.kind === 'reasoning' ? reasoning.reasoning : {}
  if (message.tool_calls.length === 0) return { role: 'assistant', content, ...own }
  const tool_calls = message.tool_calls.map(({ call_id, name, input }) => ({
    id: call_id,
    type: 'function' as const,
    function: { name, arguments: JSON.stringify(input) },
  }))
  return { role: 'assistant', content, tool_calls, ...own }
}

function toolOf({
  name,
  description,
  input_schema,
}: ModelRequest['tools'][number]): OpenAI.Chat.ChatCompletionTool {
  return { type: 'function', function: { name, description, parameters: input_schema } }
}
