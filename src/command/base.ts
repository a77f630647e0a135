/**
 * The base of every command: home, settings, providers, JSON output and exit status. A command parses its arguments, makes
 * one call, and returns.
 */
import { join } from 'node:path'
import type { PluginPlaces } from '../audit/check-plugins.js'
import type { Context, OnCount } from '../dispatch/context.js'
import { withDeliveries } from '../dispatch/deliveries.js'
import type { Outcome } from '../dispatch/outcome.js'
import { readState } from '../dispatch/read-state.js'
import { SubstratError } from '../errors.js'
import { OPERATOR } from '../format.js'
import { officialProviders } from '../provider/official.js'
import { type PluginFacts, ProviderRegistry } from '../provider/registry.js'
import type { ResultEnd, WaitView } from '../schema/output.js'
import { openHome, openOrCreateHome } from '../storage/open.js'
import type { Store } from '../storage/store.js'
import { resolveAgent } from '../tree/names.js'
import { resolveRelative } from '../tree/relations.js'
import { Shutdown } from '../turn/stop.js'
import { boundsFrom } from './bounds.js'
import { withBusyFlags } from './busy.js'
import { callingAgent } from './caller.js'
import { channelVariables } from './channels.js'
import { SETTING_KEYS } from './config-text.js'
import { live } from './flags.js'
import { homeAddress } from './home-address.js'
import { outboundOf } from './outbound.js'
import {
  asSubstratError,
  causeOf,
  errorJson,
  errorLine,
  hasResult,
  printableText,
  whereResultIs,
} from './output.js'
import { askText } from './print/ask-text.js'
import { PrintingCommand } from './printing.js'
import { ConsoleReporter } from './reporter.js'
import { Settings } from './settings.js'
import { stderr, stdout } from './stdio.js'

export interface ContextOptions {
  /** Ignore unusable settings instead of failing. For commands that repair. */
  isLenient?: boolean
  waitMs?: number | undefined
  /** Also run agents that receive mail because of this command. Default true. */
  drains?: boolean
  /** The command is there to send what is pending, so its end waits longer for targets. */
  sendsPending?: boolean
  /** The command that started this one notes unusable settings. */
  isWorker?: boolean
  /** One JSON line per record, with live text marked partial. */
  isStream?: boolean
  /** The command prints the reply of its own turn, on a terminal as it comes. Default false. */
  printsReply?: boolean
}

export abstract class BaseCommand extends PrintingCommand {
  static override enableJsonFlag = true
  static override baseFlags = { live }

  private reporter: ConsoleReporter | undefined
  private shutdown: Shutdown | undefined
  private knownHome: string | undefined
  private knownSettings: Settings | undefined
  private openContext: Context | undefined

  /** Makes oclif's protected `_run` callable. */
  start(): Promise<void> {
    return this._run()
  }

  /** Absolute path of the home, or its URL without a password. */
  protected get homeRoot(): string {
    this.knownHome ??= homeAddress(() => this.pluginFacts)
    return this.knownHome
  }

  protected get pluginFacts(): Iterable<PluginFacts> {
    return this.config.plugins.values() as Iterable<PluginFacts>
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
      () => this.pluginFacts,
      (provider, options) => this.settings.defaultsOf(provider, options),
      () => officialProviders(this.config.root),
    )
  }

  /** The places of provider plugins, for `doctor` to check. */
  protected get pluginPlaces(): PluginPlaces {
    return {
      listPath: join(this.config.dataDir, 'package.json'),
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

  /** For commands that write. Creates the home if it is missing. */
  protected context(options: ContextOptions = {}): Context {
    const store = this.openForWrite()
    stdout.keepRemedy('the command completed, and its changes are on disk: substrat list')
    const reporter = this.openReporter(options)
    this.isStream = options.isStream === true
    const note = (text: string): void => reporter.note(text)
    const settings =
      options.isLenient === true
        ? Settings.readLeniently(store, options.isWorker === true ? () => undefined : note)
        : Settings.read(store)
    this.knownSettings = settings
    this.shutdown = new Shutdown(settings.durationMs('shutdown_grace'), note)
    const parts = {
      store,
      providers: this.providers,
      ...boundsFrom(settings, options.waitMs),
      reporter,
      shutdown: this.shutdown,
      caller: this.caller,
      command: this.commandLine,
      outbound: outboundOf(store, settings.notifyTargets(), {
        command: this.commandLine,
        note,
        sendsPending: options.sendsPending === true,
        variables: channelVariables(settings.channels()),
      }),
    }
    this.openContext = withDeliveries(parts, { isOn: options.drains !== false })
    return this.openContext
  }

  /** Shows the progress of the command. */
  private openReporter(options: ContextOptions): ConsoleReporter {
    this.reporter ??= new ConsoleReporter(this.argv, this.jsonEnabled(), options)
    return this.reporter
  }

  /** For a command without a context: how much of a long work is done. */
  protected async openCount(what: string): Promise<OnCount> {
    const reporter = this.openReporter({})
    await reporter.ready
    return (done, total) => reporter.count(what, done, total)
  }

  protected get caller(): string | null {
    return callingAgent(this.homeRoot, () => this.openForRead())
  }

  private get commandLine(): string {
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

  /** Prints the reply, or with `--json` the object, once, and the reason for a nonzero exit. */
  protected report({ result, failure }: Outcome): void {
    if (result.wait !== null) this.reportWait(result.wait, result.agent.id)
    stdout.keepRemedy(whereResultIs(result))
    if (failure === undefined || hasResult(failure.code)) {
      if (this.jsonEnabled()) this.printJson(result)
      else if (!this.isStream && result.reply !== null && this.reporter?.hasShown(result.reply) !== true)
        this.print(result.reply)
    }
    if (failure === undefined) return
    const { said } = failure.facts
    // On stderr, because stdout is only for a reply. `--json` has it in the error; `--stream` printed it when it came.
    if (typeof said === 'string' && !this.jsonEnabled() && !this.isStream) this.reporter?.noteRefusal(said)
    this.fail(failure, !hasResult(failure.code))
    this.takeReport(failure)
  }

  /** The inbox does not repeat an error that the person at this terminal has just read. Killed before that, it does. */
  private takeReport({ facts }: SubstratError): void {
    const messageId = this.reporter?.reportOf(facts.run_id)
    if (messageId === undefined || !stderr.isTTY) return
    try {
      this.openContext?.store.mail.take(messageId)
    } catch {
      // A full disk, for example. Then the inbox repeats the error.
    }
  }

  /** Prints the pending calls or the question, and the secret of the token. Only this command prints the secret. */
  protected reportWait(wait: WaitView, agentId: string): void {
    wait.token = this.reporter?.takeSecret(agentId) ?? null
    if (this.jsonEnabled()) return
    for (const ask of wait.asks) this.note(`the agent ${askText(wait, ask).join(': ')}`)
    if (wait.token !== null) this.note(`token ${wait.token}`)
  }

  /** Prints the id on stdout, or on stderr if stdout is for a reply. */
  protected printAgentId(id: string, hasReply: boolean): void {
    if (hasReply || this.isStream) stderr.write(`${id}\n`)
    else if (!this.jsonEnabled()) this.print(id)
  }

  /** Prints the line of an agent when its visit ends, and the reason for a nonzero exit. Null text: prints only with `--json`. */
  protected printResult(object: ResultEnd, text: string | null, failure: SubstratError | undefined): void {
    if (this.jsonEnabled()) this.printJsonLine(object)
    else if (text !== null) this.print(text)
    if (failure !== undefined) this.fail(failure, false)
  }

  /** Prints the error and sets the exit status. The first failure of a command decides the status. */
  protected fail(failure: SubstratError, printsJson = true): void {
    const error = withBusyFlags(failure, this.ctor.flags)
    process.exitCode ??= error.exitStatus
    // stdout.finish prints one line instead: the result could not be printed, and where to find it.
    if (stdout.failure !== undefined && hasResult(error.code)) return
    if (this.jsonEnabled() && printsJson) this.printJson(errorJson(error))
    stderr.write(`${printableText(errorLine(error), stderr)}\n`)
    if (process.env.DEBUG) stderr.write(`${error.stack}\n${causeOf(error)}`)
  }

  // biome-ignore lint/suspicious/noExplicitAny: the signature is oclif's
  protected override async catch(error: any): Promise<void> {
    const { oclif } = error as { oclif?: { exit?: number } }
    // oclif ends `--help` and `this.exit(0)` by throwing.
    if (oclif?.exit === 0) throw error
    // Loaded only here: most commands fail with nothing.
    const { withAdvice } = await import('./advice.js')
    this.fail(withAdvice(asSubstratError(error, this.commandLine), error))
  }

  /** After this, a signal ends the process as by default. The entry ends the process once the output is written. */
  protected override async finally(): Promise<void> {
    // A command without a turn of its own also completes the deliveries that it started.
    await this.openContext?.deliveries.untilIdle()
    await this.openContext?.outbound.untilSent()
    this.reporter?.noteSecrets()
    this.reporter?.close()
    this.shutdown?.close()
  }

  /** Commands print their own JSON; oclif prints none. */
  protected override logJson(): void {}
}
