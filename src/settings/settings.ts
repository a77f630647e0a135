/**
 * The value of each setting. The order of precedence: command flag, environment, config.json, default. The general settings
 * are in src/schema/settings.ts, and a test compares docs/config.md with them. The settings of a provider are its model and
 * its options, which only the provider knows.
 */
import type { ChannelConfig } from '../channel/config.js'
import { suggestion } from '../closest.js'
import { SubstratError } from '../errors.js'
import type { NotifyTarget } from '../outbound/notify.js'
import { type ProviderDefaults, type ProviderRegistry, unknownOptionError } from '../provider/registry.js'
import type { Amounts, Cap } from '../schema/budget.js'
import type { McpServer } from '../schema/config.js'
import type { SettingView } from '../schema/output-home.js'
import { SETTINGS } from '../schema/settings.js'
import type { WorkspaceScope } from '../schema/words.js'
import { machineZone } from '../session/budget/calendar.js'
import { parseAmounts, parseCaps } from '../session/budget/caps.js'
import type { Store } from '../storage/store.js'
import type { BudgetRules } from '../turn/budget/scopes.js'
import { parseChannels } from './channels.js'
import {
  type ConfigValues,
  checkValue,
  configPath,
  invalidConfigError,
  isSettingKey,
  type ProviderKey,
  providerKeyOf,
  readConfig,
  SETTING_KEYS,
  type SettingKey,
} from './config-text.js'
import { parseDuration } from './durations.js'
import { parseTargets } from './notify-targets.js'
import { parseDurations, parseNames, parseRules, parseServers } from './setting-kinds.js'

/** The option under which a provider's model is set: `openai.model`. */
const MODEL_OPTION = 'model'
const NOT_INSTALLED_HELP = 'no installed provider has this setting'
const MODEL_HELP = 'model of a new agent with this provider'

export class Settings {
  private constructor(
    private readonly file: ConfigValues,
    /** Where `file` was read. */
    private readonly where: string,
    /** Receives the reason why an unusable variable is ignored. Undefined: such a variable is an error. */
    private readonly note: ((text: string) => void) | undefined,
  ) {}

  /** Throws CONFIG_INVALID for an invalid config.json. */
  static read(store: Store | undefined): Settings {
    return new Settings(readConfig(store), store === undefined ? '' : configPath(store), undefined)
  }

  /** With these values of config.json, which are checked. */
  static of(values: ConfigValues): Settings {
    return new Settings(values, '', undefined)
  }

  /** For recovery, which must not fail because of an invalid file or variable. */
  static readLeniently(store: Store | undefined, note: (text: string) => void): Settings {
    try {
      return new Settings(readConfig(store), store === undefined ? '' : configPath(store), note)
    } catch (error) {
      if (!(error instanceof SubstratError)) throw error
      note(`${error.message}; using the defaults`)
      return new Settings({}, '', note)
    }
  }

  get(key: SettingKey): SettingView {
    const { default: byDefault, env, help } = SETTINGS[key]
    return this.view({ key, env, help, default: byDefault })
  }

  /** The model of a provider, or one of its options. `help` is the provider's. */
  ofProvider({ provider, option }: ProviderKey, help: string): SettingView {
    const key = `${provider}.${option}`
    return this.view({ key, env: variableOf(key), help, default: null })
  }

  /**
   * The general settings, and those of providers that have a value: in config.json also of providers that are not installed.
   */
  async list(providers: ProviderRegistry): Promise<SettingView[]> {
    const known = await allKeys(providers)
    const others = this.providerKeys().filter((key) => known.every((each) => each.key !== key))
    return [
      ...SETTING_KEYS.map((key) => this.get(key)),
      ...known
        .flatMap(({ of, help }) => (of === undefined ? [] : [this.ofProvider(of, help)]))
        .filter(({ value }) => value !== null),
      ...others.map((key) => this.ofProvider(providerKeyOf(key) as ProviderKey, NOT_INSTALLED_HELP)),
    ]
  }

  /**
   * The model and the options of a new agent with that provider. Throws CONFIG_INVALID if config.json has an option for it that
   * it does not have.
   */
  defaultsOf(provider: string, options: string[]): ProviderDefaults {
    for (const key of this.providerKeys()) {
      const found = providerKeyOf(key) as ProviderKey
      if (found.provider !== provider || found.option === MODEL_OPTION || options.includes(found.option))
        continue
      const { message } = unknownOptionError(provider, found.option, options)
      throw invalidConfigError(this.where, message, `remove it: substrat config unset ${key}`)
    }
    const defaultFor = (option: string): string | null => this.ofProvider({ provider, option }, '').value
    const values = options.map((option) => [option, defaultFor(option)])
    return {
      model: defaultFor(MODEL_OPTION) ?? this.generalModelFor(provider),
      options: Object.fromEntries(values.filter(([, value]) => value !== null)),
    }
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

  /** The facts with which that value of `allow` is checked. */
  allowSetting(value: string | null): {
    allow: string[]
    servers: Record<string, McpServer>
    provider: string | null
  } {
    return { allow: parseNames(value), servers: this.servers(), provider: this.get('provider').value }
  }

  unknownTool(): 'stop' | 'continue' {
    return this.get('recovery.unknown_tool').value as 'stop' | 'continue'
  }

  onUnknown(): string[] {
    const { value } = this.get('on_unknown')
    return value === null ? [] : (parseRules(value) as string[])
  }

  trustsHints(): boolean {
    return this.get('recovery.mcp_hints').value === 'on'
  }

  takesOver(): boolean {
    return this.get('recovery.takeover').value === 'on'
  }

  context(): string {
    return this.get('context').value as string
  }

  workspaceScope(): WorkspaceScope {
    return this.get('workspace_scope').value as WorkspaceScope
  }

  /** The rules of budgets. Nearly no home has one, so the time zone is looked up only when it is needed. */
  budget(): BudgetRules {
    const { value } = this.get('budget')
    return {
      caps: value === null ? [] : (parseCaps(value) as Cap[]),
      // A unit that the setting does not name has its default: a hold of nothing would pass every cap.
      turn: {
        ...(parseAmounts(SETTINGS.budget_turn.default) as Amounts),
        ...(parseAmounts(this.get('budget_turn').value as string) as Amounts),
      },
      cachedWeight: Number(this.get('budget_cached').value),
      zone: () => this.get('timezone').value ?? machineZone(),
    }
  }

  servers(): Record<string, McpServer> {
    const { value } = this.get('mcp_servers')
    return value === null ? {} : (parseServers(value) as Record<string, McpServer>)
  }

  notifyTargets(): NotifyTarget[] {
    const { value } = this.get('notify')
    return value === null ? [] : parseTargets(value)
  }

  channels(): ChannelConfig[] {
    const { value } = this.get('channels')
    return value === null ? [] : parseChannels(value, this.get('provider').value)
  }

  /**
   * The general `model` names a model of the configured provider, so no other provider gets it. A model of config.json belongs
   * to the provider of config.json, also while the environment names another.
   */
  private generalModelFor(provider: string): string | null {
    const { value, source } = this.get('model')
    const owner = (source === 'config' ? this.file.provider : undefined) ?? this.get('provider').value
    return owner === provider ? value : null
  }

  private providerKeys(): string[] {
    return Object.keys(this.file).filter((key) => !isSettingKey(key))
  }

  private view(setting: Omit<SettingView, 'value' | 'source'>): SettingView {
    const { key, env, help } = setting
    const fromEnvironment = this.fromEnvironment(key, env)
    const fromFile = Object.hasOwn(this.file, key) ? this.file[key] : undefined
    const value = fromEnvironment ?? fromFile ?? setting.default
    const source =
      fromEnvironment !== undefined ? 'environment' : fromFile !== undefined ? 'config' : 'default'
    return { key, value, source, default: setting.default, env, help }
  }

  private fromEnvironment(key: string, env: string): string | undefined {
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

/** `SUBSTRAT_CLAUDE_CODE_MODEL` for `claude-code.model`. */
function variableOf(key: string): string {
  return `SUBSTRAT_${key.replaceAll(/[^a-zA-Z0-9]/g, '_').toUpperCase()}`
}

interface KnownKey {
  key: string
  /** Undefined for a general setting. */
  of?: ProviderKey
  help: string
}

/** Every key: the general ones, then those of each provider that can be loaded. */
export async function allKeys(providers: ProviderRegistry): Promise<KnownKey[]> {
  const { listProviders } = await import('../provider/listing.js')
  const listed = await listProviders(providers)
  const usable = listed.filter(({ kind }) => kind !== 'broken')
  return [
    ...SETTING_KEYS.map((key) => ({ key, help: SETTINGS[key].help })),
    ...usable.flatMap(({ name, options }) =>
      Object.entries({ [MODEL_OPTION]: MODEL_HELP, ...options }).map(([option, help]) => ({
        key: `${name}.${option}`,
        of: { provider: name, option },
        help,
      })),
    ),
  ]
}

/** The general key, or the provider's key with its help. Throws USAGE or PROVIDER_NOT_FOUND for one that does not exist. */
export async function checkKey(
  key: string,
  providers: ProviderRegistry,
): Promise<SettingKey | (ProviderKey & { help: string })> {
  if (isSettingKey(key)) return key
  const found = providerKeyOf(key)
  if (found === undefined) {
    throw new SubstratError(
      'USAGE',
      `there is no setting ${JSON.stringify(key)}${suggestion(key, SETTING_KEYS)}`,
      { hint: 'list the settings: substrat config list; a provider has PROVIDER.model and PROVIDER.OPTION' },
    )
  }
  const { provider, option } = found
  const { options } = await providers.load(provider)
  if (Object.hasOwn(options, option)) return { ...found, help: options[option] as string }
  if (option === MODEL_OPTION) return { ...found, help: MODEL_HELP }
  throw unknownOptionError(provider, option, [MODEL_OPTION, ...Object.keys(options)])
}
