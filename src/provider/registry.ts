/**
 * The available providers: built-in ones, and those that installed oclif plugins name in their package.json. A plugin is imported
 * only when its provider is used.
 */
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { withTimeout } from '../clock.js'
import { suggestion } from '../closest.js'
import { SubstratError } from '../errors.js'
import { CHANNEL, isPlainObject } from '../format.js'
import type { PluginManifest } from '../schema/config.js'
import { PLUGIN_PREDICATES } from '../schema/generated/plugin-predicates.js'
import { loadModule } from '../start/plugin-modules.js'
import type { Provider, ProviderSettings } from './contract.js'
import { describeFailure } from './failure.js'
import { findProgram } from './find-program.js'
import { checkWorkspace } from './workspace.js'

/** Time limits for loading a plugin's module and for its `check`: neither may block a command for ever. */
const LOAD_MS_MAX = 10_000
const CHECK_MS_MAX = 10_000

/** The facts that oclif has about a plugin without importing it. */
export interface PluginFacts {
  name: string
  version: string
  root: string
  /** Its package.json. */
  pjson: { substrat?: unknown }
}

/** The user's defaults for the new agents of a provider. */
export interface ProviderDefaults {
  model: string | null
  options: Record<string, string>
}

export type DefaultsOf = (provider: string, options: string[]) => ProviderDefaults

export interface ProviderEntry {
  name: string
  /** `built-in`, or the plugin's package name. */
  plugin: string
  version: string | null
  /** Whether it comes with substrat. */
  isOfficial: boolean
  load(): Promise<Provider>
}

const BUILT_IN: ProviderEntry[] = [
  builtIn('scripted', async () => (await import('./scripted.js')).scripted),
  builtIn('exec', async () => (await import('./exec.js')).exec),
]

/** The provider of channels, which no person chooses. */
const OF_CHANNELS = builtIn(CHANNEL, async () => (await import('./channel.js')).channel)

export class ProviderRegistry {
  private entries: ProviderEntry[] | undefined

  /** `plugins` is called once, and only for a name that is not built in. */
  constructor(
    private readonly plugins: () => Iterable<PluginFacts>,
    private readonly defaultsOf: DefaultsOf = () => ({ model: null, options: {} }),
    /** The plugins that come with substrat. An installed provider of the same name replaces theirs. */
    private readonly official: () => PluginFacts[] = () => [],
  ) {}

  list(): ProviderEntry[] {
    if (this.entries !== undefined) return this.entries
    const installed = [...this.plugins()].flatMap((plugin) => providersOf(plugin, false))
    const names = new Set(installed.map(({ name }) => name))
    const official = this.official().flatMap((plugin) => providersOf(plugin, true))
    this.entries = [...BUILT_IN, ...installed, ...official.filter(({ name }) => !names.has(name))]
    return this.entries
  }

  /** Throws PROVIDER_NOT_FOUND, or PROVIDER_MISCONFIGURED if the module cannot be loaded or is not a provider. */
  async load(name: string): Promise<Provider> {
    const found = [...BUILT_IN, OF_CHANNELS].find((entry) => entry.name === name) ?? this.onlyEntry(name)
    let provider: Provider
    try {
      provider = await withTimeout(
        found.load(),
        LOAD_MS_MAX,
        `it did not load within ${LOAD_MS_MAX / 1000} s`,
      )
    } catch (error) {
      const why = `it cannot be loaded: ${describeFailure(error).message}`
      throw brokenProviderError(found, why, installing(found), error)
    }
    if (!isProvider(provider))
      throw brokenProviderError(found, 'its default export is not a provider', installing(found))
    return provider
  }

  /** The settings of a new agent: where they say nothing, the user's defaults for that provider. */
  async withDefaults<T extends ProviderDefaults>(name: string, given: T): Promise<T> {
    const { options } = await this.load(name)
    const defaults = this.defaultsOf(name, Object.keys(options))
    return {
      ...given,
      model: given.model ?? defaults.model,
      options: { ...defaults.options, ...given.options },
    }
  }

  /** Throws USAGE for an unknown option, and PROVIDER_MISCONFIGURED if the provider's check fails. */
  async check(name: string, settings: ProviderSettings): Promise<Provider> {
    const provider = await this.load(name)
    const unknown = Object.keys(settings.options).find((option) => !Object.hasOwn(provider.options, option))
    if (unknown !== undefined) throw unknownOptionError(name, unknown, Object.keys(provider.options))
    try {
      await withTimeout(provider.check?.(settings), CHECK_MS_MAX, `its settings check did not finish in time`)
    } catch (error) {
      throw refusedSettings(name, error)
    }
    return provider
  }

  /**
   * The provider, if what it starts is there. Throws as `check` does, and USAGE if an agent program has no workspace. Call it before a
   * turn stores anything.
   */
  async checkTurn(name: string, settings: ProviderSettings): Promise<Provider> {
    const provider = await this.check(name, settings)
    const { workspace } = settings
    if (provider.kind === 'agent') checkWorkspace(workspace)
    await inTime(name, (signal) => findProgram(provider.program?.(settings), workspace, signal), TO_FIND_IT)
    return provider
  }

  /** Whether a turn could begin now, as far as the provider can tell. Throws as `check` does. */
  async checkReady(name: string, settings: ProviderSettings): Promise<void> {
    const provider = await this.checkTurn(name, settings)
    await inTime(name, (signal) => provider.ready?.(settings, { signal }))
  }

  private onlyEntry(name: string): ProviderEntry {
    const found = this.list().filter((entry) => entry.name === name)
    if (found.length === 1) return found[0] as ProviderEntry
    const [first, second] = found
    if (first !== undefined && second !== undefined) {
      throw brokenProviderError(
        first,
        `the plugin ${second.plugin} provides it too`,
        `substrat plugins uninstall ${second.plugin}`,
      )
    }
    throw this.notFoundError(name)
  }

  /** Throws PROVIDER_NOT_FOUND. A provider that cannot be loaded now has a name too. */
  checkName(name: string): void {
    if (this.list().every((entry) => entry.name !== name)) throw this.notFoundError(name)
  }

  /** The command that installs the provider. Undefined if it is installed. */
  remedy(name: string): string | undefined {
    if (BUILT_IN.some((entry) => entry.name === name) || this.list().some((entry) => entry.name === name))
      return undefined
    return this.notFoundError(name).hint
  }

  private notFoundError(name: string): SubstratError {
    const names = this.list().map((entry) => entry.name)
    const why = `there is no provider ${JSON.stringify(name)}${suggestion(name, names)}`
    return new SubstratError('PROVIDER_NOT_FOUND', why, {
      hint: `available: ${names.join(', ')}; install others: substrat plugins add PATH, or substrat plugins install PACKAGE`,
      facts: { provider: name },
    })
  }
}

async function inTime(
  provider: string,
  ask: (signal: AbortSignal) => void | Promise<void> | undefined,
  hint?: string,
): Promise<void> {
  const controller = new AbortController()
  try {
    await withTimeout(ask(controller.signal), CHECK_MS_MAX, `its check did not finish in time`)
  } catch (error) {
    throw refusedSettings(provider, error, hint)
  } finally {
    controller.abort()
  }
}

/** In a hint. */
const TO_FIND_IT =
  'install it, or correct PATH, which is shorter in cron and systemd; then: substrat check --all'

function refusedSettings(provider: string, error: unknown, hint = 'substrat providers'): SubstratError {
  const { type, message } = describeFailure(error)
  return new SubstratError('PROVIDER_MISCONFIGURED', message, {
    hint,
    facts: { provider, type },
  })
}

function builtIn(name: string, load: () => Promise<Provider>): ProviderEntry {
  return { name, plugin: 'built-in', version: null, isOfficial: true, load }
}

/** A provider without a usable module does not hide the others of its plugin. */
function providersOf(plugin: PluginFacts, isOfficial: boolean): ProviderEntry[] {
  const declared: unknown = (plugin.pjson.substrat as Partial<PluginManifest> | undefined)?.providers
  if (!isPlainObject(declared)) return []
  const isProviders = PLUGIN_PREDICATES.plugin.providers
  return Object.entries(declared).flatMap(([name, file]) => {
    if (!isProviders?.({ [name]: file })) return []
    const module = join(plugin.root, file as string)
    const load = async (): Promise<Provider> =>
      module.endsWith('.cjs')
        ? (loadModule(module) as Provider)
        : ((await import(pathToFileURL(module).href)) as { default: Provider }).default
    return [{ name, plugin: plugin.name, version: plugin.version, isOfficial, load }]
  })
}

function installing({ plugin, isOfficial }: ProviderEntry): string {
  return isOfficial
    ? 'install substrat again; in a clone: npm run build'
    : `install it again: substrat plugins install ${plugin}`
}

function isProvider(value: unknown): value is Provider {
  const provider = value as Partial<Provider> | null | undefined
  if (typeof provider?.description !== 'string') return false
  if (typeof provider.options !== 'object' || provider.options === null) return false
  if (provider.kind === 'model') return typeof provider.complete === 'function'
  return (
    provider.kind === 'agent' &&
    [provider.create, provider.restore, provider.inspect].every((f) => typeof f === 'function')
  )
}

/** `options`: those that the provider has. */
export function unknownOptionError(provider: string, option: string, options: string[]): SubstratError {
  const why = `the provider ${provider} has no option ${JSON.stringify(option)}${suggestion(option, options)}`
  return new SubstratError('USAGE', why, {
    hint: `its options: ${options.join(', ') || 'none'}; see substrat providers`,
    facts: { provider, option },
  })
}

function brokenProviderError(
  entry: ProviderEntry,
  why: string,
  hint: string,
  cause?: unknown,
): SubstratError {
  return new SubstratError(
    'PROVIDER_MISCONFIGURED',
    `the provider ${entry.name} of ${entry.plugin} cannot be used: ${why}`,
    {
      hint,
      facts: { provider: entry.name, plugin: entry.plugin },
      cause,
    },
  )
}
