/** Reads and checks the options and the environment. */
import type Anthropic from '@anthropic-ai/sdk'
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

type Effort = NonNullable<Anthropic.OutputConfig['effort']>
type Thinking = { type: 'off' } | { type: 'budget'; budget: number } | { type: 'effort'; effort: Effort }

export interface Settings {
  endpoint: Endpoint
  key: string
  model: string
  maxTokens: number
  temperature: number | undefined
  /** Undefined: the model decides. */
  thinking: Thinking | undefined
  /** Whether the API may cache the conversation for the next request. */
  isCached: boolean
}

export const OPTIONS = {
  ...COMMON_OPTIONS,
  max_tokens:
    'maximum tokens of a response, with its thinking (32000, or 16000 more than a larger thinking budget)',
  thinking:
    'off, a budget of tokens such as 4096, or for newer models an effort: low, medium, high, xhigh or max (the model decides)',
  base_url: 'URL of the API, without /v1 (ANTHROPIC_BASE_URL, else https://api.anthropic.com)',
  prompt_cache: 'on or off: whether the API caches the conversation for the next request (on)',
} satisfies Record<string, string>

// Every model that the API now serves accepts this maximum.
const MAX_TOKENS = 32_000
/** Room for the answer after a large thinking budget. */
const ANSWER_TOKENS = 16_000
const ANSWER_TOKENS_MIN = 1024
const BUDGET_MIN = 1024
const EFFORTS = ['low', 'medium', 'high', 'xhigh', 'max'] as const satisfies readonly Effort[]

export function readSettings(settings: ProviderSettings, environment: Environment): Settings {
  const { options } = settings
  const key = apiKey(settings, environment, 'ANTHROPIC_API_KEY')
  if (key === undefined) {
    throw failure(
      'authentication',
      'no API key: set ANTHROPIC_API_KEY, or use --option key_env=… or key_file=…',
    )
  }
  const thinking = thinkingOf(options)
  const base = baseUrlOf(options.base_url, 'ANTHROPIC_BASE_URL', environment, 'https://api.anthropic.com')
  return {
    endpoint: endpointOf(settings, base, 'v1/messages'),
    key,
    model: modelOf(settings),
    maxTokens: maxTokensOf(options, thinking),
    temperature: temperatureWith(options, thinking),
    thinking,
    isCached: oneOf(options, 'prompt_cache', ['on', 'off']) !== 'off',
  }
}

type Options = ProviderSettings['options']

function thinkingOf({ thinking }: Options): Thinking | undefined {
  if (thinking === undefined) return undefined
  if (thinking === 'off') return { type: 'off' }
  const effort = EFFORTS.find((one) => one === thinking)
  if (effort !== undefined) return { type: 'effort', effort }
  const budget = /^\d{1,9}$/.test(thinking) ? Number(thinking) : 0
  if (budget >= BUDGET_MIN) return { type: 'budget', budget }
  throw failure(
    'misconfigured',
    `the option thinking is ${JSON.stringify(thinking)}; it must be off, a number of tokens from ${BUDGET_MIN}, or one of ${EFFORTS.join(', ')}`,
  )
}

/** Thinking counts towards the maximum, so the maximum must exceed the budget. */
function maxTokensOf(options: Options, thinking: Thinking | undefined): number {
  const given = positiveInteger(options, 'max_tokens')
  const budget = thinking?.type === 'budget' ? thinking.budget : 0
  if (given === undefined) return budget < MAX_TOKENS ? MAX_TOKENS : budget + ANSWER_TOKENS
  if (given > budget) return given
  throw failure(
    'misconfigured',
    `the option max_tokens is ${given}; it must be larger than the budget of the option thinking, ${budget}`,
  )
}

/** The API refuses a maximum that is not larger than the thinking budget, and the answer needs room. */
export function responseTokensMin({ thinking }: Settings): number | undefined {
  return thinking?.type === 'budget' ? thinking.budget + ANSWER_TOKENS_MIN : undefined
}

function temperatureWith(options: Options, thinking: Thinking | undefined): number | undefined {
  const temperature = temperatureOf(options)
  const isOff = thinking === undefined || thinking.type === 'off'
  if (isOff || temperature === undefined || temperature === 1) return temperature
  throw failure('misconfigured', 'the option temperature must be 1 or absent if the option thinking is set')
}
