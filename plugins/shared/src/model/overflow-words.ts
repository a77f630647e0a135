/**
 * The codes and words with which services say that a conversation is too long, each with a place where they are documented or
 * reported. A refusal in other words leads to compaction too, if the service has answered this conversation before.
 */

interface Words {
  /** A code, or a regular expression for the message. */
  words: string
  service: string
  source: string
}

/** An error's `code` or `type`. */
const CODES: Words[] = [
  {
    words: 'context_length_exceeded',
    service: 'OpenAI',
    source: 'https://github.com/anomalyco/opencode/issues/6071',
  },
  {
    words: 'context_window_exceeded',
    service: 'gateways',
    source: 'https://github.com/XiaomiMiMo/MiMo-Code/pull/2417',
  },
  {
    words: 'model_context_window_exceeded',
    service: 'Anthropic and Bedrock',
    source: 'https://docs.pipelex.com/latest/errors/llm-completion-truncated-error/',
  },
  {
    words: 'exceed_context_size_error',
    service: 'llama.cpp',
    source: 'https://github.com/ggml-org/llama.cpp/pull/15780',
  },
  { words: 'context_exceeded', service: 'ds4', source: 'https://github.com/antirez/ds4/pull/150' },
  {
    words: 'request_too_large',
    service: 'Anthropic',
    source: 'https://www.developersdigest.tech/errors/api/anthropic-api/413-request-too-large',
  },
  {
    words: 'string_above_max_length',
    service: 'OpenAI',
    source: 'https://github.com/VectorlyApp/bluebox/issues/31',
  },
]

const MESSAGES: Words[] = [
  {
    words: 'prompt is too long',
    service: 'Anthropic',
    source: 'https://github.com/anthropics/claude-code/issues/12186',
  },
  {
    words: 'exceed context limit',
    service: 'Anthropic',
    source: 'https://github.com/continuedev/continue/issues/6080',
  },
  {
    words: 'exceeds? (the |its |your )?(available |model.s )?context',
    service: 'OpenAI, llama.cpp',
    source: 'https://github.com/the-open-agent/openagent/issues/2344',
  },
  {
    words: 'exceeds? the (maximum )?(context|number of) (length|window|size|tokens)',
    service: 'Gemini',
    source: 'https://github.com/google-gemini/gemini-cli/issues/4231',
  },
  {
    words: 'maximum context length',
    service: 'OpenAI, OpenRouter, vLLM, Mistral',
    source: 'https://github.com/refly-ai/refly/issues/1177',
  },
  {
    words: 'reduce the length of the messages or completion',
    service: 'OpenAI, Groq',
    source: 'https://github.com/conghaonet/hao_chatgpt/issues/4',
  },
  {
    words: 'maximum model length',
    service: 'vLLM',
    source: 'https://github.com/xorbitsai/inference/issues/3785',
  },
  {
    words: 'longer than the model.s context length',
    service: 'SGLang',
    source: 'https://github.com/QwenLM/Qwen3/issues/1321',
  },
  {
    words: 'input length .{0,30}exceeds the maximum (allowed )?length',
    service: 'SGLang, Volcano Engine',
    source: 'https://github.com/sgl-project/sglang/issues/4048',
  },
  {
    words: 'greater than the context length',
    service: 'LM Studio',
    source: 'https://github.com/continuedev/continue/issues/9957',
  },
  {
    words: 'max_new_tokens.? must be <=',
    service: 'Text Generation Inference',
    source: 'https://huggingface.co/CohereForAI/c4ai-command-r-plus/discussions/43',
  },
  {
    words: 'input is too long for requested model',
    service: 'Bedrock',
    source: 'https://github.com/aws-samples/bedrock-chat/issues/95',
  },
  {
    words: 'maximum prompt length is',
    service: 'xAI',
    source: 'https://github.com/cline/cline/issues/3120',
  },
  {
    words: 'length of all messages is too long',
    service: 'Perplexity',
    source: 'https://github.com/BerriAI/litellm/pull/21647',
  },
  {
    // A single request exceeds the limit per minute, so waiting does not help.
    words: 'request too large for',
    service: 'OpenAI, Groq',
    source: 'https://github.com/elizaOS/eliza/issues/4040',
  },
]

export const OVERFLOW_CODES = CODES.map(({ words }) => words)
export const OVERFLOW_MESSAGE = new RegExp(MESSAGES.map(({ words }) => words).join('|'), 'i')
