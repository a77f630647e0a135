/** What the options and the environment say, or why that cannot work. */
import type { ProviderSettings } from 'substrat/provider'
import { failure } from '../../shared/src/failure.js'
import type { Environment } from '../../shared/src/model/proxy.js'
import {
  apiKey,
  baseUrlOf,
  COMMON_OPTIONS,
  type Endpoint,
  endpointOf,
  modelOf,
  oneOf,
  positiveInteger,
  temperatureOf,
} from '../../shared/src/model/settings.js'

export interface Settings {
  endpoint: Endpoint
  key: string
  model: string
  maxTokens: number
  temperature: number | undefined
  /** Whether the API may keep what it has read for the next request. */
  isCached: boolean
}

export const OPTIONS = {
  ...COMMON_OPTIONS,
  max_tokens: 'the most tokens that one response may have (32000)',
  base_url: 'where the API is (ANTHROPIC_BASE_URL, else https://api.anthropic.com)',
  prompt_cache: 'on or off: whether the API keeps the conversation for the next request (on)',
} satisfies Record<string, string>

// The most that every model now served takes.
const MAX_TOKENS = 32_000

export function readSettings(settings: ProviderSettings, environment: Environment): Settings {
  const { options } = settings
  const key = apiKey(settings, environment, 'ANTHROPIC_API_KEY')
  if (key === undefined) {
    throw failure(
      'authentication',
      'there is no API key: set ANTHROPIC_API_KEY, or give --option key_env=… or key_file=…',
    )
  }
  const base = baseUrlOf(options.base_url, 'ANTHROPIC_BASE_URL', environment, 'https://api.anthropic.com')
  return {
    endpoint: endpointOf(settings, base, 'v1/messages'),
    key,
    model: modelOf(settings),
    maxTokens: positiveInteger(options, 'max_tokens') ?? MAX_TOKENS,
    temperature: temperatureOf(options),
    isCached: oneOf(options, 'prompt_cache', ['on', 'off']) !== 'off',
  }
}
