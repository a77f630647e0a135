/** Shared by the tests of the model providers: the built providers, and requests to them. */
import type {
  ModelEvent,
  ModelMessage,
  ModelProvider,
  ModelRequest,
  ProviderFailure,
  ToolCall,
} from '../../src/provider/contract.js'
import type { Api } from '../support/model-server/server.js'
import { builtProvider, folder } from './built.js'

/** Keys of both vendors for the tests: `check` requires one. */
export const KEY = 'sk-test-0123456789abcdef'
process.env.ANTHROPIC_API_KEY = KEY
process.env.OPENAI_API_KEY = KEY
for (const name of [
  'HTTP_PROXY',
  'HTTPS_PROXY',
  'ALL_PROXY',
  'NO_PROXY',
  'OPENAI_BASE_URL',
  'ANTHROPIC_BASE_URL',
]) {
  delete process.env[name]
  delete process.env[name.toLowerCase()]
}
delete process.env.SSL_CERT_FILE

export const [anthropic, openai] = await Promise.all([
  builtProvider<ModelProvider>('provider-anthropic'),
  builtProvider<ModelProvider>('provider-openai'),
])

/** The three APIs. */
export interface Variant {
  api: Api
  provider: ModelProvider
  keyVariable: string
  /** The options for the server at `url`. */
  options(url: string): Record<string, string>
}

export const VARIANTS: Variant[] = [
  {
    api: 'messages',
    provider: anthropic,
    keyVariable: 'ANTHROPIC_API_KEY',
    options: (url) => ({ base_url: url }),
  },
  {
    api: 'responses',
    provider: openai,
    keyVariable: 'OPENAI_API_KEY',
    options: (url) => ({ base_url: `${url}/v1`, api: 'responses' }),
  },
  {
    api: 'chat',
    provider: openai,
    keyVariable: 'OPENAI_API_KEY',
    options: (url) => ({ base_url: `${url}/v1` }),
  },
]

export function requestFor(
  options: Record<string, string>,
  history: ModelMessage[] | string = 'hello',
  more: Partial<ModelRequest> = {},
): ModelRequest {
  const messages = typeof history === 'string' ? [user(history)] : history
  return {
    workspace: folder,
    model: 'model-1',
    instructions: null,
    options,
    prompt: messages.findLast(({ role }) => role === 'user')?.content ?? '',
    messages: () => messages,
    responses_before: 0,
    attempt: 1,
    tools: [SHELL],
    ...more,
  }
}

export const SHELL = {
  name: 'shell',
  description: 'Runs a command.',
  input_schema: { type: 'object', properties: { command: { type: 'string' } }, required: ['command'] },
}

export function user(content: string): ModelMessage {
  return { role: 'user', content }
}

export function assistant(content: string, ...tool_calls: ToolCall[]): ModelMessage {
  return { role: 'assistant', content, tool_calls }
}

export function call(call_id: string, input: Record<string, unknown> = {}, name = 'shell'): ToolCall {
  return { call_id, name, input }
}

export function result(call_id: string, content: string, is_error = false): ModelMessage {
  return { role: 'tool', call_id, name: 'shell', content, is_error }
}

export async function collect(
  provider: ModelProvider,
  request: ModelRequest,
  signal: AbortSignal = new AbortController().signal,
  /** Filled while events arrive, for the events before a failure. */
  events: ModelEvent[] = [],
): Promise<ModelEvent[]> {
  for await (const event of provider.complete(request, { signal })) events.push(event)
  return events
}

export function textOf(events: ModelEvent[]): string {
  return events.map((event) => (event.type === 'text' ? event.text : '')).join('')
}

export function callsOf(events: ModelEvent[]): ToolCall[] {
  return events.flatMap((event) => (event.type === 'tool_call' ? [event.call] : []))
}

/** Returns the failure of a call. Throws if the call succeeds or its failure does not fit the contract. */
export async function failureOf(act: () => unknown): Promise<ProviderFailure> {
  try {
    await act()
  } catch (error) {
    if (typeof (error as Partial<ProviderFailure>).failure?.type === 'string') return error as ProviderFailure
    throw error
  }
  throw new Error('it did not fail')
}
