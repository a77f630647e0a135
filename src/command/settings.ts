/**
 * The value of each setting. The order of precedence: command flag, environment, config.json, default. The settings
 * themselves are in src/schema/settings.ts, and a test compares docs/config.md with them.
 */
import { suggestion } from '../closest.js'
import { SubstratError, shellWord } from '../errors.js'
import type { McpServer } from '../schema/config.js'
import type { SettingView } from '../schema/output-home.js'
import { SETTINGS } from '../schema/settings.js'
import type { Store } from '../storage/store.js'
import { parseDuration } from './durations.js'
import { EXPECTED, isValid, parseDurations, parseNames, parseServers } from './setting-kinds.js'

export type SettingKey = keyof typeof SETTINGS
export const SETTING_KEYS = Object.keys(SETTINGS) as SettingKey[]

export function settingHelp(key: SettingKey): string {
  return SETTINGS[key].help
}

type EffectiveSetting = SettingView & { key: SettingKey }

type ConfigFile = Record<string, unknown>

export class Settings {
  private constructor(
    private readonly file: Partial<Record<SettingKey, string>>,
    /** Receives the reason why an unusable variable is ignored. Undefined: such a variable is an error. */
    private readonly note: ((text: string) => void) | undefined,
  ) {}

  /** Throws CONFIG_INVALID for an invalid config.json. */
  static read(store: Store | undefined): Settings {
    return new Settings(readConfig(store), undefined)
  }

  /** For recovery, which must not fail because of an invalid file or variable. */
  static readLeniently(store: Store | undefined, note: (text: string) => void): Settings {
    try {
      return new Settings(readConfig(store), note)
    } catch (error) {
      if (!(error instanceof SubstratError)) throw error
      note(`${error.message}; using the defaults`)
      return new Settings({}, note)
    }
  }

  /** The text of config.json with the new value. The old value of that key may be invalid: this is how a user corrects it. */
  static textWith(store: Store, key: SettingKey, value: string): string {
    const config = { ...parseConfig(store), [key]: value }
    checkValue(key, value, 'the value')
    checkConfig(config, store.label({ kind: 'config' }))
    return `${JSON.stringify(config, null, 2)}\n`
  }

  get(key: SettingKey): EffectiveSetting {
    const { default: byDefault, env, help } = SETTINGS[key]
    const fromEnvironment = this.fromEnvironment(key)
    const value = fromEnvironment ?? this.file[key] ?? byDefault
    const source =
      fromEnvironment !== undefined ? 'environment' : this.file[key] !== undefined ? 'config' : 'default'
    return { key, value, source, default: byDefault, env, help }
  }

  text(key: 'provider' | 'model'): string | null {
    return this.get(key).value
  }

  count(key: 'slots_max' | 'warm_max' | 'depth_max' | 'children_max'): number {
    return Number(this.get(key).value)
  }

  durationMs(key: 'timeout' | 'turn_timeout' | 'shutdown_grace' | 'tool_timeout' | 'token_lifetime'): number {
    return parseDuration(this.get(key).value as string) as number
  }

  durationsMs(key: 'retry_delays'): number[] {
    return parseDurations(this.get(key).value as string)
  }

  names(key: 'allow'): string[] {
    return parseNames(this.get(key).value)
  }

  unknownTool(): 'stop' | 'continue' {
    return this.get('recovery.unknown_tool').value as 'stop' | 'continue'
  }

  servers(): Record<string, McpServer> {
    const { value } = this.get('mcp_servers')
    return value === null ? {} : (parseServers(value) as Record<string, McpServer>)
  }

  private fromEnvironment(key: SettingKey): string | undefined {
    const { env } = SETTINGS[key]
    const value = process.env[env] || undefined
    try {
      if (value !== undefined) checkValue(key, value, `the environment variable ${env}`, `unset ${env}`)
      return value
    } catch (error) {
      if (this.note === undefined) throw error
      this.note(`${(error as Error).message}; it is ignored`)
      return undefined
    }
  }
}

export function checkSettingKey(key: string): SettingKey {
  if (isSettingKey(key)) return key
  throw new SubstratError(
    'USAGE',
    `there is no setting ${JSON.stringify(key)}${suggestion(key, SETTING_KEYS)}`,
    {
      hint: 'list the settings: substrat config list',
    },
  )
}

function isSettingKey(key: string): key is SettingKey {
  return Object.hasOwn(SETTINGS, key)
}

function readConfig(store: Store | undefined): Partial<Record<SettingKey, string>> {
  return store === undefined ? {} : checkConfig(parseConfig(store), store.label({ kind: 'config' }))
}

function isObject(value: unknown): boolean {
  return typeof value === 'object' && value !== null
}

function parseConfig(store: Store): ConfigFile {
  const bytes = store.readConfig()
  if (bytes === undefined) return {}
  const hint = `correct it, or move it away: mv ${shellWord(store.label({ kind: 'config' }))} ${shellWord(`${store.label({ kind: 'config' })}.bad`)}`
  let config: unknown
  try {
    config = JSON.parse(bytes.toString('utf8'))
  } catch (error) {
    throw invalidConfigError(
      store.label({ kind: 'config' }),
      `it is not JSON: ${(error as Error).message}`,
      hint,
    )
  }
  if (typeof config === 'object' && config !== null && !Array.isArray(config)) return config as ConfigFile
  throw invalidConfigError(store.label({ kind: 'config' }), 'it is not a JSON object', hint)
}

function checkConfig(config: ConfigFile, path: string): Partial<Record<SettingKey, string>> {
  const values: Partial<Record<SettingKey, string>> = {}
  for (const [key, value] of Object.entries(config)) {
    if (!isSettingKey(key)) {
      const hint = `remove it from the file; the settings are: ${Object.keys(SETTINGS).join(', ')}`
      throw invalidConfigError(path, `${JSON.stringify(key)} is not a setting`, hint)
    }
    const text = typeof value === 'number' ? String(value) : isObject(value) ? JSON.stringify(value) : value
    checkValue(key, text, path)
    values[key] = text
  }
  return values
}

function checkValue(
  key: SettingKey,
  value: unknown,
  where: string,
  hint = `substrat config set ${key} ${SETTINGS[key].default ?? "'…'"}`,
): asserts value is string {
  const { kind } = SETTINGS[key]
  if (typeof value === 'string' && isValid(kind, value)) return
  throw invalidConfigError(where, `${key} must be ${EXPECTED[kind]}, not ${JSON.stringify(value)}`, hint)
}

function invalidConfigError(where: string, why: string, hint: string): SubstratError {
  return new SubstratError('CONFIG_INVALID', `${where} is invalid: ${why}`, { hint, facts: { where } })
}
