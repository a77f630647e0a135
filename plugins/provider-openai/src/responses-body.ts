/**
 * Builds the body of a request to the Responses API. The API stores nothing (`store: false`), because substrat has
 * the conversation. Items have no ids, so none refers to an item that the API would have to know.
 */
import type OpenAI from 'openai'
import type { ModelMessage, ModelRequest } from 'substrat/provider'
import { isBlank, NOTHING } from '../../shared/src/model/history.js'
import { instructionsOf, openaiHistory, resultText } from './history.js'
import type { Settings } from './settings.js'

type Body = OpenAI.Responses.ResponseCreateParamsStreaming
type Item = OpenAI.Responses.ResponseInputItem

export function responsesBody(request: ModelRequest, settings: Settings): Body {
  const { model, maxTokens, temperature, effort } = settings
  const instructions = instructionsOf(request)
  return {
    model,
    stream: true,
    store: false,
    input: openaiHistory(request).flatMap(itemsOf),
    ...(instructions !== undefined && { instructions }),
    ...(request.tools.length > 0 && { tools: request.tools.map(toolOf) }),
    ...(maxTokens !== undefined && { max_output_tokens: maxTokens }),
    ...(temperature !== undefined && { temperature }),
    ...(effort !== undefined && { reasoning: { effort } }),
  }
}

function itemsOf(message: ModelMessage): Item[] {
  if (message.role === 'user')
    return [{ role: 'user', content: isBlank(message.content) ? NOTHING : message.content }]
  if (message.role === 'tool') {
    return [{ type: 'function_call_output', call_id: message.call_id, output: resultText(message) }]
  }
  const calls: Item[] = message.tool_calls.map(({ call_id, name, input }) => ({
    type: 'function_call',
    call_id,
    name,
    arguments: JSON.stringify(input),
  }))
  return isBlank(message.content) ? calls : [{ role: 'assistant', content: message.content }, ...calls]
}

/** Not strict, because strict mode rejects schemas with optional properties. */
function toolOf({
  name,
  description,
  input_schema,
}: ModelRequest['tools'][number]): OpenAI.Responses.FunctionTool {
  return { type: 'function', name, description, parameters: input_schema, strict: false }
}
