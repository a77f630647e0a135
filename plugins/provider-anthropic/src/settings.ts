/** Reads and checks the options and the environment. */
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
  /** Whether the API may cache the conversation for the next request. */
  isCached: boolean
}

export const OPTIONS = {
  ...COMMON_OPTIONS,
  max_tokens: 'maximum tokens of a response (32000)',
  base_url: 'URL of the API, without /v1 (ANTHROPIC_BASE_URL, else https://api.anthropic.com)',
  prompt_cache: 'on or off: whether the API caches the conversation for the next request (on)',
} satisfies Record<string, string>

// Every model that the API now serves accepts this maximum.
const MAX_TOKENS = 32_000

export function readSettings(settings: ProviderSettings, environment: Environment): Settings {
  const { options } = settings
  const key = apiKey(settings, environment, 'ANTHROPIC_API_KEY')
  if (key === undefined) {
    throw failure(
      'authentication',
      'no API key: set ANTHROPIC_API_KEY, or use --option key_env=… or key_file=…',
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
