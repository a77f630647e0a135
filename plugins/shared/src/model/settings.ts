/** What both providers are configured with: options of the agent, and the key and the base URL from the environment. */
import { readFileSync } from 'node:fs'
import { resolve } from 'node:path'
import type { ProviderSettings } from 'substrat/provider'
import { failure } from '../failure.js'
import type { Environment } from './proxy.js'

/** Where requests go. */
export interface Endpoint {
  url: URL
  stallTimeoutMs: number
}

export const COMMON_OPTIONS = {
  max_tokens: 'the most tokens that one response may have',
  temperature: 'the sampling temperature, where the model takes one',
  stall_timeout: 'give up when the API has sent nothing for this long (5m)',
  key_env: 'the environment variable that has the API key',
  key_file: 'a file that has the API key',
} satisfies Record<string, string>

const STALL_TIMEOUT_MS = 5 * 60_000
const DURATION = /^(\d+(?:\.\d+)?)(ms|s|m|h|d)$/
const UNIT_MS: Record<string, number> = { ms: 1, s: 1000, m: 60_000, h: 3_600_000, d: 86_400_000 }
// What a timer of Node can take.
const MS_MAX = 2 ** 31 - 1

export function modelOf({ model }: ProviderSettings): string {
  if (model !== null && model.trim() !== '') return model
  throw failure('misconfigured', 'no model is named: give one with --model, there is no default')
}

/** `path` below the base URL. */
export function endpointOf({ options }: ProviderSettings, base: URL, path: string): Endpoint {
  const url = new URL(base)
  url.pathname = `${base.pathname.replace(/\/+$/, '')}/${path}`
  return { url, stallTimeoutMs: durationMs(options.stall_timeout) }
}

/** From the option, the environment variable or the default. It is stored with the agent, so no secret may be in it. */
export function baseUrlOf(
  option: string | undefined,
  variable: string,
  environment: Environment,
  standard: string,
): URL {
  const name = option === undefined ? variable : 'base_url'
  const text = option ?? (environment[variable] || standard)
  if (!URL.canParse(text)) throw failure('misconfigured', `${name} is no URL`)
  const url = new URL(text)
  if (url.protocol !== 'http:' && url.protocol !== 'https:') {
    throw failure('misconfigured', `${name} is not a URL of http:// or https://`)
  }
  if (url.username !== '' || url.password !== '' || url.search !== '' || url.hash !== '') {
    throw failure('misconfigured', `${name} may have no user, no password, no query and no fragment`)
  }
  return url
}

/** Undefined where there is none. */
export function apiKey(
  settings: ProviderSettings,
  environment: Environment,
  variable: string,
): string | undefined {
  const { key_env: name, key_file: file } = settings.options
  if (name !== undefined && file !== undefined) {
    throw failure('misconfigured', 'key_env and key_file exclude each other')
  }
  const key = (
    file === undefined ? environment[name ?? variable] : keyIn(resolve(settings.workspace, file))
  )?.trim()
  if (key === undefined || key === '') {
    if (name === undefined && file === undefined) return undefined
    throw failure('authentication', `there is no API key in ${name ?? file}`)
  }
  if (!/^[\x21-\x7e]+$/.test(key)) {
    throw failure(
      'misconfigured',
      `what ${file ?? name ?? variable} has is no API key: it has spaces or other signs`,
    )
  }
  return key
}

function keyIn(file: string): string {
  try {
    return readFileSync(file, 'utf8')
  } catch (error) {
    throw failure('authentication', `the API key cannot be read: ${(error as Error).message}`)
  }
}

export function positiveInteger(options: Record<string, string>, name: string): number | undefined {
  const text = options[name]
  if (text === undefined) return undefined
  const number = Number(text)
  if (/^\d+$/.test(text) && number > 0 && Number.isSafeInteger(number)) return number
  throw failure('misconfigured', `${name} is no whole number above 0: ${JSON.stringify(text)}`)
}

export function temperatureOf(options: Record<string, string>): number | undefined {
  const text = options.temperature
  if (text === undefined) return undefined
  const number = Number(text)
  if (text.trim() !== '' && number >= 0 && number <= 2) return number
  throw failure('misconfigured', `temperature is no number from 0 to 2: ${JSON.stringify(text)}`)
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
  throw failure('misconfigured', `${name} is none of ${values.join(', ')}: ${JSON.stringify(text)}`)
}

function durationMs(text: string | undefined): number {
  if (text === undefined) return STALL_TIMEOUT_MS
  const [, count, unit] = DURATION.exec(text.trim()) ?? []
  const ms = Number(count) * (UNIT_MS[unit ?? ''] ?? Number.NaN)
  if (ms >= 1 && ms <= MS_MAX) return Math.round(ms)
  throw failure('misconfigured', `stall_timeout is no duration such as 30s or 5m: ${JSON.stringify(text)}`)
}
