/**
 * Every setting with its default and environment variable. The order of precedence: command flag, environment, config.json,
 * default. A test compares docs/config.md with this table.
 */
import { suggestion } from '../closest.js'
import { SubstratError, shellWord } from '../errors.js'
import type { FileStore } from '../storage/store.js'
import type { McpServer } from '../turn/tools/mcp.js'
import { parseDuration } from './durations.js'
import { EXPECTED, isValid, type Kind, parseDurations, parseNames, parseServers } from './setting-kinds.js'

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
    help: 'maximum number of provider calls at once, across all processes',
  },
  warm_max: {
    kind: 'count_or_0',
    default: '2',
    env: 'SUBSTRAT_WARM_MAX',
    help: 'maximum number of agent servers kept between turns; 0: none',
  },
  depth_max: {
    kind: 'count',
    default: '8',
    env: 'SUBSTRAT_DEPTH_MAX',
    help: 'maximum depth of the tree of agents',
  },
  children_max: {
    kind: 'count',
    default: '100',
    env: 'SUBSTRAT_CHILDREN_MAX',
    help: 'maximum number of living children of an agent',
  },
  timeout: {
    kind: 'duration',
    default: '10m',
    env: 'SUBSTRAT_TIMEOUT',
    help: 'how long to wait for a busy agent or a free slot',
  },
  turn_timeout: {
    kind: 'duration',
    default: '12h',
    env: 'SUBSTRAT_TURN_TIMEOUT',
    help: 'wall-clock limit for one turn',
  },
  shutdown_grace: {
    kind: 'duration',
    default: '30s',
    env: 'SUBSTRAT_SHUTDOWN_GRACE',
    help: 'how long a turn may run after SIGTERM, SIGINT or SIGHUP',
  },
  tool_timeout: {
    kind: 'duration',
    default: '120s',
    env: 'SUBSTRAT_TOOL_TIMEOUT',
    help: 'time limit for one tool call',
  },
  token_lifetime: {
    kind: 'duration',
    default: '7d',
    env: 'SUBSTRAT_TOKEN_LIFETIME',
    help: 'how long a resume token is valid',
  },
  retry_delays: {
    kind: 'durations',
    default: '2s,4s,8s',
    env: 'SUBSTRAT_RETRY_DELAYS',
    help: 'pauses before each retry of a failed model request',
  },
  allow: {
    kind: 'names',
    default: null,
    env: 'SUBSTRAT_ALLOW',
    help: 'tools that run without approval, for every agent',
  },
  'recovery.unknown_tool': {
    kind: 'unknown_tool',
    default: 'stop',
    env: 'SUBSTRAT_RECOVERY_UNKNOWN_TOOL',
    help: 'after a crash during a tool call: stop for a person, or let the model check',
  },
  mcp_servers: {
    kind: 'servers',
    default: null,
    env: 'SUBSTRAT_MCP_SERVERS',
    help: 'MCP servers (stdio) for every model agent, as JSON',
  },
} as const satisfies Record<string, Setting>

export type SettingKey = keyof typeof SETTINGS
export const SETTING_KEYS = Object.keys(SETTINGS) as SettingKey[]

export function settingHelp(key: SettingKey): string {
  return SETTINGS[key].help
}

export interface EffectiveSetting {
  key: SettingKey
  value: string | null
  source: 'environment' | 'config' | 'default'
  default: string | null
  env: string
  help: string
}

type ConfigFile = Record<string, unknown>

export class Settings {
  private constructor(
    private readonly file: Partial<Record<SettingKey, string>>,
    /** Receives the reason why an unusable variable is ignored. Undefined: such a variable is an error. */
    private readonly note: ((text: string) => void) | undefined,
  ) {}

  /** Throws CONFIG_INVALID for an invalid config.json. */
  static read(store: FileStore | undefined): Settings {
    return new Settings(readConfig(store), undefined)
  }

  /** For recovery, which must not fail because of an invalid file or variable. */
  static readLeniently(store: FileStore | undefined, note: (text: string) => void): Settings {
    try {
      return new Settings(readConfig(store), note)
    } catch (error) {
      if (!(error instanceof SubstratError)) throw error
      note(`${error.message}; using the defaults`)
      return new Settings({}, note)
    }
  }

  /** The text of config.json with the new value. The old value of that key may be invalid: this is how a user corrects it. */
  static textWith(store: FileStore, key: SettingKey, value: string): string {
    const config = { ...parseConfig(store), [key]: value }
    checkValue(key, value, 'the value')
    checkConfig(config, store.configPath)
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

function readConfig(store: FileStore | undefined): Partial<Record<SettingKey, string>> {
  return store === undefined ? {} : checkConfig(parseConfig(store), store.configPath)
}

function isObject(value: unknown): boolean {
  return typeof value === 'object' && value !== null
}

function parseConfig(store: FileStore): ConfigFile {
  const bytes = store.readConfig()
  if (bytes === undefined) return {}
  const hint = `correct it, or move it away: mv ${shellWord(store.configPath)} ${shellWord(`${store.configPath}.bad`)}`
  let config: unknown
  try {
    config = JSON.parse(bytes.toString('utf8'))
  } catch (error) {
    throw invalidConfigError(store.configPath, `it is not JSON: ${(error as Error).message}`, hint)
  }
  if (typeof config === 'object' && config !== null && !Array.isArray(config)) return config as ConfigFile
  throw invalidConfigError(store.configPath, 'it is not a JSON object', hint)
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
