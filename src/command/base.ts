/**
 * The base of every command: home, settings, providers, JSON output and exit status. A command parses its arguments, makes
 * one call, and returns.
 */
import { join } from 'node:path'
import type { PluginPlaces } from '../audit/check-plugins.js'
import { asSubstratError, causeOf, errorJson, errorLine, hasResult } from '../console/output.js'
import { stderr, stdout } from '../console/stdio.js'
import { readState } from '../dispatch/read-state.js'
import { SubstratError } from '../errors.js'
import { OPERATOR } from '../format.js'
import {
  officialPlugins,
  type PackagePlaces,
  packagePlaces,
  usedPlugins,
  withOfficial,
} from '../provider/official.js'
import { type PluginFacts, ProviderRegistry } from '../provider/registry.js'
import { SETTING_KEYS } from '../settings/config-text.js'
import { homeAddress } from '../settings/home-address.js'
import { Settings } from '../settings/settings.js'
import { openHome, openOrCreateHome } from '../storage/open.js'
import type { Store } from '../storage/store.js'
import { resolveAgent } from '../tree/names.js'
import { resolveRelative } from '../tree/relations.js'
import { withBusyFlags } from './busy.js'
import { callingAgent } from './caller.js'
import { live } from './flags.js'
import { PrintingCommand } from './printing.js'

export abstract class BaseCommand extends PrintingCommand {
  static override enableJsonFlag = true
  static override baseFlags = { live }

  private knownHome: string | undefined
  protected knownSettings: Settings | undefined

  /** Makes oclif's protected `_run` callable. */
  start(): Promise<void> {
    return this._run()
  }

  /** Absolute path of the home, or its URL without a password. */
  protected get homeRoot(): string {
    this.knownHome ??= homeAddress(() => this.pluginFacts)
    return this.knownHome
  }

  protected get pluginList(): string {
    return join(this.config.dataDir, 'package.json')
  }

  protected get packagePlaces(): PackagePlaces {
    return packagePlaces(this.config.root, this.pluginList)
  }

  /** The user's plugins. */
  protected get installedPlugins(): Iterable<PluginFacts> {
    return usedPlugins(this.packagePlaces, this.config.plugins.values() as Iterable<PluginFacts>)
  }

  protected get pluginFacts(): PluginFacts[] {
    return withOfficial(this.packagePlaces, this.installedPlugins)
  }

  /** Undefined if there is no home yet. */
  protected openForRead(): Store | undefined {
    return openHome(this.homeRoot)
  }

  /** Creates the home if it is missing. */
  protected openForWrite(): Store {
    return openOrCreateHome(this.homeRoot)
  }

  protected get providers(): ProviderRegistry {
    return new ProviderRegistry(
      () => this.installedPlugins,
      (provider, options) => this.settings.defaultsOf(provider, options),
      () => officialPlugins(this.config.root),
    )
  }

  /** The places of provider plugins, for `doctor` to check. */
  protected get pluginPlaces(): PluginPlaces {
    return {
      listPath: this.pluginList,
      loaded: new Set(this.config.plugins.keys()),
      registry: this.providers,
    }
  }

  /** The reason why config.json or an environment variable cannot be used. */
  protected settingsTrouble(): SubstratError | undefined {
    try {
      const settings = Settings.read(this.openForRead())
      for (const key of SETTING_KEYS) settings.get(key)
      return undefined
    } catch (error) {
      // The audit reports a damaged home.
      if (error instanceof SubstratError) return error.code === 'CORRUPT' ? undefined : error
      throw error
    }
  }

  protected get caller(): string | null {
    return callingAgent(this.homeRoot, () => this.openForRead())
  }

  protected get commandLine(): string {
    return `substrat ${this.id?.replaceAll(':', ' ') ?? ''}`.trim()
  }

  /** The settings of the home that `context` opened. */
  protected get settings(): Settings {
    this.knownSettings ??= Settings.read(this.openForRead())
    return this.knownSettings
  }

  protected resolveForRead(word: string): { store: Store; agentId: string } {
    const store = this.openForRead()
    // Throws without a home: then no agent exists.
    const agentId = this.resolve(store, word)
    return { store: store as Store, agentId }
  }

  /** Inside an agent's tool, a name is first looked up among the agent's relatives. */
  private resolve(store: Store | undefined, word: string): string {
    const { caller } = this
    const from = caller === null || store === undefined ? undefined : readState(store, caller)
    if (from === undefined || store === undefined) return resolveAgent(store, word)
    const agentId = resolveRelative(store, from, word)
    // The word `operator` names the person there, but a command needs an agent.
    return agentId === OPERATOR ? resolveAgent(store, word) : agentId
  }

  /** For commands that write to an existing agent. Does not create a missing home. */
  protected resolveForWrite(word: string): string {
    return this.resolve(this.openForRead(), word)
  }

  /** Prints the error and sets the exit status. The first failure of a command decides the status. */
  protected fail(failure: SubstratError, printsJson = true): void {
    const error = withBusyFlags(failure, this.ctor.flags)
    process.exitCode ??= error.exitStatus
    // stdout.finish prints one line instead: the result could not be printed, and where to find it.
    if (stdout.failure !== undefined && hasResult(error.code)) return
    if (this.jsonEnabled() && printsJson) this.printJson(errorJson(error))
    stderr.line(errorLine(error))
    if (process.env.DEBUG) stderr.write(`${error.stack}\n${causeOf(error)}`)
  }

  // biome-ignore lint/suspicious/noExplicitAny: the signature is oclif's
  protected override async catch(error: any): Promise<void> {
    const { oclif } = error as { oclif?: { exit?: number } }
    // oclif ends `--help` and `this.exit(0)` by throwing.
    if (oclif?.exit === 0) throw error
    // Loaded only here: most commands fail with nothing.
    const { withAdvice } = await import('../console/advice.js')
    this.fail(withAdvice(asSubstratError(error, this.commandLine), error))
  }

  /** Commands print their own JSON; oclif prints none. */
  protected override logJson(): void {}
}
