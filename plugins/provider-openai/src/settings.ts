/** Reads and checks the options and the environment. */
import type OpenAI from 'openai'
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

type Effort = NonNullable<OpenAI.ReasoningEffort>

export interface Settings {
  api: 'responses' | 'chat'
  /** The endpoint is OpenAI's own, not a compatible server. */
  isOpenAI: boolean
  endpoint: Endpoint
  /** Undefined without a key: most local servers need none. */
  key: string | undefined
  model: string
  maxTokens: number | undefined
  temperature: number | undefined
  effort: Effort | undefined
}

export const OPTIONS = {
  ...COMMON_OPTIONS,
  base_url: 'URL of the API, with its /v1 (OPENAI_BASE_URL, else https://api.openai.com/v1)',
  api: 'responses or chat (responses for api.openai.com, else chat)',
  reasoning_effort: 'none, minimal, low, medium, high, xhigh or max, for models that accept it',
} satisfies Record<string, string>

const EFFORTS = [
  'none',
  'minimal',
  'low',
  'medium',
  'high',
  'xhigh',
  'max',
] as const satisfies readonly Effort[]
const OPENAI_HOST = 'api.openai.com'

export function readSettings(settings: ProviderSettings, environment: Environment): Settings {
  const { options } = settings
  const base = baseUrlOf(options.base_url, 'OPENAI_BASE_URL', environment, `https://${OPENAI_HOST}/v1`)
  const isOpenAI = base.hostname === OPENAI_HOST
  const key = apiKey(settings, environment, 'OPENAI_API_KEY')
  if (key === undefined && isOpenAI) {
    throw failure('authentication', 'no API key: set OPENAI_API_KEY, or use --option key_env=… or key_file=…')
  }
  const api = oneOf(options, 'api', ['responses', 'chat']) ?? (isOpenAI ? 'responses' : 'chat')
  return {
    api,
    isOpenAI,
    endpoint: endpointOf(settings, base, api === 'responses' ? 'responses' : 'chat/completions'),
    key,
    model: modelOf(settings),
    maxTokens: positiveInteger(options, 'max_tokens'),
    temperature: temperatureOf(options),
    effort: oneOf(options, 'reasoning_effort', EFFORTS),
  }
}
