/** Converts a conversation for both of OpenAI's APIs. */
import type { ModelMessage, ModelRequest } from 'substrat/provider'
import { isBlank, wireHistory } from '../../shared/src/model/history.js'

// The limit of Chat Completions.
const ID_CHARACTERS_MAX = 40

export function openaiHistory(request: ModelRequest): ModelMessage[] {
  return wireHistory(request.messages(), { idCharactersMax: ID_CHARACTERS_MAX })
}

export function instructionsOf({ instructions }: ModelRequest): string | undefined {
  return instructions === null || isBlank(instructions) ? undefined : instructions
}

/** The APIs have no field for `is_error`. */
export function resultText({ content, is_error }: Extract<ModelMessage, { role: 'tool' }>): string {
  return is_error ? `Error: ${content}` : content
}
