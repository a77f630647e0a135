/** The sentences are those of the sources in plugins/shared/src/model/overflow-words.ts. */
import { expect, test } from 'vitest'
import { apiFailure } from '../../plugins/shared/src/model/api-error.js'

function typeOf(message: string, code = 'invalid_request_error'): string {
  const error = { codes: [code], message, body: {} }
  return apiFailure({ target: 'the service', status: 400, headers: {}, error }).failure.type
}

test.each([
  'prompt is too long: 208310 tokens > 200000 maximum',
  'input length and `max_tokens` exceed context limit: 199759 + 8192 > 200000, decrease input length or `max_tokens` and try again',
  'Your input exceeds the context window of this model. Please adjust your input and try again.',
  'The input token count (218152) exceeds the maximum number of tokens allowed (65536).',
  "This endpoint's maximum context length is 32768 tokens. However, you requested about 42832 tokens",
  'The decoder prompt (length 21535) is longer than the maximum model length of 16384',
  "The input (61709 tokens) is longer than the model's context length (40960 tokens).",
  'Input length (160062 tokens) exceeds the maximum allowed length (59862 tokens).',
  'Input length 203743 exceeds the maximum length 202752',
  'The number of tokens to keep from the initial prompt is greater than the context length.',
  'Input validation error: `inputs` tokens + `max_new_tokens` must be <= 32768. Given: 33717 `inputs` tokens',
  'Input is too long for requested model.',
  "This model's maximum prompt length is 131072 but the request contains 136973 tokens.",
  'The total length of all messages is too long.',
  'Request too large for model `llama-3.1-8b-instant` on tokens per minute (TPM): Limit 6000, Requested 6294',
  'Please reduce the length of the messages or completion.',
  'Prompt tokens (9000) exceeds context size (8192)',
])('the conversation is too long: %s', (message) => {
  expect(typeOf(message)).toBe('overflow')
})

test.each([
  'context_length_exceeded',
  'context_window_exceeded',
  'model_context_window_exceeded',
  'exceed_context_size_error',
  'context_exceeded',
  'request_too_large',
  'string_above_max_length',
])('the conversation is too long if the code is %s', (code) => {
  expect(typeOf('no', code)).toBe('overflow')
})

test.each([
  'max_tokens must be less than or equal to 16384, the maximum value for this model',
  "messages: text content blocks must be non-empty, the tool's input is too long ago",
  "Invalid 'tools[0].function.name': string too long",
])('a request is invalid for another reason: %s', (message) => {
  expect(typeOf(message)).toBe('invalid')
})
