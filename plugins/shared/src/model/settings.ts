/** Reads the settings that all model providers share: options, and the key and base URL from the environment. */
import { readFileSync } from 'node:fs'
import { resolve } from 'node:path'
import type { ProviderSettings } from 'substrat/provider'
import { failure } from '../failure.js'
import type { Environment } from './proxy.js'

export interface Endpoint {
  url: URL
  stallTimeoutMs: number
  eventTimeoutMs: number
}

export const COMMON_OPTIONS = {
  max_tokens: 'maximum tokens of a response',
  temperature: 'sampling temperature, for models that accept one',
  stall_timeout: 'fail the request if the API sends nothing for this time (5m)',
  event_timeout:
    'fail the request if the API keeps the connection open without an event for this time (default: stall_timeout)',
  key_env: 'environment variable with the API key',
  key_file: 'file with the API key, relative to the workspace',
} satisfies Record<string, string>

const STALL_TIMEOUT_MS = 5 * 60_000
const DURATION = /^(\d+(?:\.\d+)?)(ms|s|m|h|d)$/
const UNIT_MS: Record<string, number> = { ms: 1, s: 1000, m: 60_000, h: 3_600_000, d: 86_400_000 }
// The longest delay of a Node timer.
const MS_MAX = 2 ** 31 - 1

export function modelOf({ model }: ProviderSettings): string {
  if (model !== null && model.trim() !== '') return model
  throw failure(
    'misconfigured',
    'no model: set one with --model, or a default: substrat config set PROVIDER.model NAME',
  )
}

/** Appends `path` to the base URL. */
export function endpointOf({ options }: ProviderSettings, base: URL, path: string): Endpoint {
  const url = new URL(base)
  url.pathname = `${base.pathname.replace(/\/+$/, '')}/${path}`
  const stallTimeoutMs = durationMs('stall_timeout', options.stall_timeout, STALL_TIMEOUT_MS)
  return {
    url,
    stallTimeoutMs,
    eventTimeoutMs: durationMs('event_timeout', options.event_timeout, stallTimeoutMs),
  }
}

/**
 * The base URL from the option, the environment variable or the default. substrat stores the option, so it must not
 * contain a secret.
 */
export function baseUrlOf(
  option: string | undefined,
  variable: string,
  environment: Environment,
  standard: string,
): URL {
  const name = option === undefined ? variable : 'base_url'
  const text = option ?? (environment[variable] || standard)
  if (!URL.canParse(text)) throw failure('misconfigured', `${name} is not a URL`)
  const url = new URL(text)
  if (url.protocol !== 'http:' && url.protocol !== 'https:') {
    throw failure('misconfigured', `${name} must begin with http:// or https://`)
  }
  if (url.username !== '' || url.password !== '' || url.search !== '' || url.hash !== '') {
    throw failure('misconfigured', `${name} must not contain a user, password, query or fragment`)
  }
  return url
}

/** Undefined without a key. */
export function apiKey(
  settings: ProviderSettings,
  environment: Environment,
  variable: string,
): string | undefined {
  const { key_env: name, key_file: file } = settings.options
  if (name !== undefined && file !== undefined) {
    throw failure('misconfigured', 'key_env and key_file cannot be combined')
  }
  const key = (
    file === undefined ? environment[name ?? variable] : keyIn(resolve(settings.workspace, file))
  )?.trim()
  if (key === undefined || key === '') {
    if (name === undefined && file === undefined) return undefined
    throw failure('authentication', `${name ?? file} contains no API key`)
  }
  if (!/^[\x21-\x7e]+$/.test(key)) {
    throw failure(
      'misconfigured',
      `the value of ${file ?? name ?? variable} is not an API key: it contains spaces or other invalid characters`,
    )
  }
  return key
}

function keyIn(file: string): string {
  try {
    return readFileSync(file, 'utf8')
  } catch (error) {
    throw failure('authentication', `cannot read the API key: ${(error as Error).message}`)
  }
}

export function positiveInteger(options: Record<string, string>, name: string): number | undefined {
  const text = options[name]
  if (text === undefined) return undefined
  const number = Number(text)
  if (/^\d+$/.test(text) && number > 0 && Number.isSafeInteger(number)) return number
  throw failure(
    'misconfigured',
    `the option ${name} must be a whole number above 0, not ${JSON.stringify(text)}`,
  )
}

export function temperatureOf(options: Record<string, string>): number | undefined {
  const text = options.temperature
  if (text === undefined) return undefined
  const number = Number(text)
  if (text.trim() !== '' && number >= 0 && number <= 2) return number
  throw failure(
    'misconfigured',
    `the option temperature must be a number from 0 to 2, not ${JSON.stringify(text)}`,
  )
}

export function oneOf<const T extends string>(
  options: Record<string, string>,
  name: string,
  values: readonly T[],
): T | undefined {
  const text = options[name]
  if (text === undefined) return undefined
  const value = values.find((one) => one === text)
  if (value !== undefined) return value
  throw failure(
    'misconfigured',
    `the option ${name} must be one of ${values.join(', ')}, not ${JSON.stringify(text)}`,
  )
}

function durationMs(option: string, text: string | undefined, standardMs: number): number {
  return text === undefined ? standardMs : durationOf(option, text)
}

export function durationOf(option: string, text: string): number {
  const [, count, unit] = DURATION.exec(text.trim()) ?? []
  const ms = Number(count) * (UNIT_MS[unit ?? ''] ?? Number.NaN)
  if (ms >= 1 && ms <= MS_MAX) return Math.round(ms)
  throw failure(
    'misconfigured',
    `the option ${option} must be a duration such as 30s or 5m, not ${JSON.stringify(text)}`,
  )
}
