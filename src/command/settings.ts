/**
 * The settings: every key with its default and its environment variable. A flag of the command goes first, then the
 * environment, then config.json, then the default. docs/config.md is made from the same table, and a test compares them.
 */
import { SubstratError } from '../errors.js'
import type { FileStore } from '../storage/store.js'
import { parseDuration } from './durations.js'

type Kind = 'text' | 'count' | 'duration'

interface Setting {
  kind: Kind
  default: string | null
  env: string
  help: string
}

export const SETTINGS = {
  provider: { kind: 'text', default: 'scripted', env: 'SUBSTRAT_PROVIDER', help: 'provider of a new agent' },
  model: { kind: 'text', default: null, env: 'SUBSTRAT_MODEL', help: 'model of a new agent' },
  slots_max: {
    kind: 'count',
    default: '4',
    env: 'SUBSTRAT_SLOTS_MAX',
    help: 'provider calls at once, across processes',
  },
  timeout: {
    kind: 'duration',
    default: '10m',
    env: 'SUBSTRAT_TIMEOUT',
    help: 'how long a busy agent or slot is waited for',
  },
  turn_timeout: {
    kind: 'duration',
    default: '12h',
    env: 'SUBSTRAT_TURN_TIMEOUT',
    help: 'wall clock of one turn',
  },
  shutdown_grace: {
    kind: 'duration',
    default: '30s',
    env: 'SUBSTRAT_SHUTDOWN_GRACE',
    help: 'how long a turn may still run after SIGTERM, SIGINT or SIGHUP',
  },
} as const satisfies Record<string, Setting>

export type SettingKey = keyof typeof SETTINGS

export interface EffectiveSetting {
  key: SettingKey
  value: string | null
  source: 'environment' | 'config' | 'default'
  default: string | null
  env: string
  help: string
}

export class Settings {
  private constructor(private readonly file: Partial<Record<SettingKey, string>>) {}

  /** Throws CONFIG_INVALID for a config.json that is not of its form. */
  static read(store: FileStore | undefined): Settings {
    const bytes = store?.readConfig()
    return new Settings(
      store === undefined || bytes === undefined ? {} : parseConfig(bytes, store.configPath),
    )
  }

  /** For what a bad file must not stop: reading and recovery. */
  static readLeniently(store: FileStore | undefined, note: (text: string) => void): Settings {
    try {
      return Settings.read(store)
    } catch (error) {
      if (!(error instanceof SubstratError)) throw error
      note(`${error.message}; the defaults are used`)
      return new Settings({})
    }
  }

  get(key: SettingKey): EffectiveSetting {
    const { default: byDefault, env, help } = SETTINGS[key]
    const fromEnvironment = process.env[env] || undefined
    if (fromEnvironment !== undefined) checkValue(key, fromEnvironment, env)
    const value = fromEnvironment ?? this.file[key] ?? byDefault
    const source =
      fromEnvironment !== undefined ? 'environment' : this.file[key] !== undefined ? 'config' : 'default'
    return { key, value, source, default: byDefault, env, help }
  }

  text(key: 'provider' | 'model'): string | null {
    return this.get(key).value
  }

  count(key: 'slots_max'): number {
    return Number(this.get(key).value)
  }

  durationMs(key: 'timeout' | 'turn_timeout' | 'shutdown_grace'): number {
    return parseDuration(this.get(key).value as string) as number
  }

  /** The text of config.json with one more key. */
  withKey(key: SettingKey, value: string): string {
    checkValue(key, value, key)
    return `${JSON.stringify({ ...this.file, [key]: value }, null, 2)}\n`
  }
}

export function checkSettingKey(key: string): SettingKey {
  if (isSettingKey(key)) return key
  throw new SubstratError('USAGE', `there is no setting ${JSON.stringify(key)}`, {
    hint: `the keys are ${Object.keys(SETTINGS).join(', ')}: substrat config list`,
  })
}

function isSettingKey(key: string): key is SettingKey {
  return Object.hasOwn(SETTINGS, key)
}

function parseConfig(bytes: Buffer, path: string): Partial<Record<SettingKey, string>> {
  let config: unknown
  try {
    config = JSON.parse(bytes.toString('utf8'))
  } catch (error) {
    throw invalid(path, `it is not JSON: ${(error as Error).message}`)
  }
  if (typeof config !== 'object' || config === null || Array.isArray(config))
    throw invalid(path, 'it is no JSON object')
  const values: Partial<Record<SettingKey, string>> = {}
  for (const [key, value] of Object.entries(config)) {
    if (!isSettingKey(key)) throw invalid(path, `it has a key that is no setting: ${JSON.stringify(key)}`)
    if (typeof value !== 'string' && typeof value !== 'number')
      throw invalid(path, `${key} is ${JSON.stringify(value)}`)
    checkValue(key, String(value), path)
    values[key] = String(value)
  }
  return values
}

const EXPECTED: Record<Kind, string> = {
  text: 'some text',
  count: 'a whole number from 1 to 1000',
  duration: 'a duration such as 30s, 10m or 2h',
}

function checkValue(key: SettingKey, value: string, where: string): void {
  const { kind } = SETTINGS[key]
  const isGood =
    kind === 'text'
      ? value !== '' && value.length <= 1000
      : kind === 'count'
        ? /^[1-9]\d{0,3}$/.test(value) && Number(value) <= 1000
        : parseDuration(value) !== undefined
  if (!isGood) throw invalid(where, `${key} is ${JSON.stringify(value)}, not ${EXPECTED[kind]}`)
}

function invalid(where: string, why: string): SubstratError {
  return new SubstratError('CONFIG_INVALID', `the setting in ${where} cannot be used: ${why}`, {
    hint: 'see every key and what it takes: substrat config list',
    facts: { where },
  })
}
