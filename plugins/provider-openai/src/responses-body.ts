/**
 * Builds the body of a request to the Responses API. The API stores nothing (`store: false`), because substrat has the conversation
 * and the encrypted reasoning. Only a response with reasoning has ids: the API pairs a reasoning item with the item after it.
 */
import type OpenAI from 'openai'
import type { ModelMessage, ModelRequest } from 'substrat/provider'
import { isBlank, NOTHING } from '../../shared/src/model/history.js'
import { type Part, partsOf } from '../../shared/src/model/layout.js'
import type { Endpoint } from '../../shared/src/model/settings.js'
import { instructionsOf, openaiHistory, resultText } from './history.js'
import type { Settings } from './settings.js'

type Body = OpenAI.Responses.ResponseCreateParamsStreaming
type Item = OpenAI.Responses.ResponseInputItem

/** OpenAI refuses to include the reasoning of models that have none. */
const WITHOUT_REASONING = /^(ft:)?(gpt-[34]|chatgpt-|gpt-5(\.\d+)?-chat)/

export function responsesBody(request: ModelRequest, settings: Settings): Body {
  const { model, maxTokens, temperature, effort } = settings
  const instructions = instructionsOf(request)
  return {
    model,
    stream: true,
    store: false,
    ...(!WITHOUT_REASONING.test(model) && { include: ['reasoning.encrypted_content'] }),
    input: withOwnIds(openaiHistory(request).flatMap((message) => itemsOf(message, settings.endpoint))),
    ...(instructions !== undefined && { instructions }),
    ...(request.tools.length > 0 && { tools: request.tools.map(toolOf) }),
    ...(maxTokens !== undefined && { max_output_tokens: maxTokens }),
    ...(temperature !== undefined && { temperature }),
    ...(effort !== undefined && { reasoning: { effort } }),
  }
}

/** Some servers give several items one id, but the API refuses an id that comes twice. */
function withOwnIds(items: Item[]): Item[] {
  const used = new Set<unknown>()
  return items.map((item) => {
    if (!('id' in item) || item.id === undefined) return item
    const { id, ...rest } = item
    if (used.has(id)) return rest as Item
    used.add(id)
    return item
  })
}

function itemsOf(message: ModelMessage, endpoint: Endpoint): Item[] {
  if (message.role === 'user')
    return [{ role: 'user', content: isBlank(message.content) ? NOTHING : message.content }]
  if (message.role === 'tool') {
    return [{ type: 'function_call_output', call_id: message.call_id, output: resultText(message) }]
  }
  return partsOf(message, endpoint).map(itemOf)
}

function itemOf(part: Part): Item {
  if (part.kind === 'reasoning') return part.reasoning as unknown as OpenAI.Responses.ResponseReasoningItem
  if (part.kind === 'call') {
    const { call_id, name, input } = part.call
    return { ...part.facts, type: 'function_call', call_id, name, arguments: JSON.stringify(input) }
  }
  const { id, ...facts } = part.facts
  if (id === undefined) return { role: 'assistant', content: part.text }
  return {
    ...facts,
    id,
    type: 'message',
    role: 'assistant',
    status: 'completed',
    content: [{ type: 'output_text', text: part.text, annotations: [] }],
  }
}

/** Not strict, because strict mode rejects schemas with optional properties. */
function toolOf({
  name,
  description,
  input_schema,
}: ModelRequest['tools'][number]): OpenAI.Responses.FunctionTool {
  return { type: 'function', name, description, parameters: input_schema, strict: false }
}
