/**
 * What every command has: the home, the settings, the providers, the JSON shape and the exit status. Commands parse, make
 * one call, and return.
 */
import { homedir } from 'node:os'
import { join, resolve } from 'node:path'
import { Command } from '@oclif/core/command'
import type { PluginPlaces } from '../audit/check-plugins.js'
import { callText } from '../dispatch/call-text.js'
import type { Context, Deliveries } from '../dispatch/context.js'
import { withDeliveries } from '../dispatch/deliveries.js'
import type { Outcome } from '../dispatch/outcome.js'
import { readState } from '../dispatch/read-state.js'
import type { ResultEnd } from '../dispatch/result-end.js'
import type { WaitView } from '../dispatch/view.js'
import { SubstratError, shellWord } from '../errors.js'
import { isUuid, OPERATOR } from '../format.js'
import { type PluginFacts, ProviderRegistry } from '../provider/registry.js'
import { FileStore } from '../storage/store.js'
import { resolveAgent } from '../tree/names.js'
import { resolveRelative } from '../tree/relations.js'
import { Shutdown } from '../turn/stop.js'
import { boundsFrom } from './bounds.js'
import { asSubstratError, errorJson, errorLine, hasResult, printableText } from './output.js'
import { ConsoleReporter } from './reporter.js'
import { SETTING_KEYS, Settings } from './settings.js'
import { guardStdio, stdout } from './stdio.js'

export interface ContextOptions {
  /** Whether a bad config.json stops the command. */
  isLenient?: boolean
  waitMs?: number | undefined
  /** Whether the mail that it causes is delivered by the command itself. Default true. */
  drains?: boolean
  /** One JSON line per record, with live text marked partial. */
  isStream?: boolean
}

export abstract class BaseCommand extends Command {
  static override enableJsonFlag = true

  private reporter: ConsoleReporter | undefined
  private shutdown: Shutdown | undefined
  private isStream = false
  private knownSettings: Settings | undefined
  private deliveries: Deliveries | undefined

  /** What oclif does with a command that it has loaded. */
  start(): Promise<void> {
    return this._run()
  }

  protected override async init(): Promise<void> {
    await super.init()
    guardStdio()
  }

  /** False once nobody reads stdout, or it cannot be written: a turn goes on, what only prints need not. */
  protected get isRead(): boolean {
    return stdout.isOpen
  }

  /** The home's root, made absolute. */
  protected get homeRoot(): string {
    return resolve(process.env.SUBSTRAT_HOME || join(homedir(), '.substrat'))
  }

  /** Undefined where there is no home yet. */
  protected openForRead(): FileStore | undefined {
    return FileStore.openForRead(this.homeRoot)
  }

  /** Makes the home where it is missing. */
  protected openForWrite(): FileStore {
    return FileStore.openForWrite(this.homeRoot)
  }

  protected get providers(): ProviderRegistry {
    return new ProviderRegistry(() => this.config.plugins.values() as Iterable<PluginFacts>)
  }

  /** Where providers come from, for who looks whether all is well there. */
  protected get pluginPlaces(): PluginPlaces {
    return {
      listPath: join(this.config.dataDir, 'package.json'),
      loaded: new Set(this.config.plugins.keys()),
      registry: this.providers,
    }
  }

  /** Why config.json, or a variable of the environment, cannot be used. */
  protected settingsTrouble(): SubstratError | undefined {
    try {
      const settings = Settings.read(this.openForRead())
      for (const key of SETTING_KEYS) settings.get(key)
      return undefined
    } catch (error) {
      // The home itself is looked at by itself.
      if (error instanceof SubstratError) return error.code === 'CORRUPT' ? undefined : error
      throw error
    }
  }

  /** For commands that write: makes the home where it is missing. */
  protected context(options: ContextOptions = {}): Context {
    const store = this.openForWrite()
    stdout.keepRemedy('what was asked is done and on disk: substrat list')
    const reporter = new ConsoleReporter({ isStream: options.isStream === true, isJson: this.jsonEnabled() })
    this.reporter = reporter
    this.isStream = options.isStream === true
    const note = (text: string): void => reporter.note(text)
    const settings = options.isLenient === true ? Settings.readLeniently(store, note) : Settings.read(store)
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
    }
    const ctx = withDeliveries(parts, { isOn: options.drains !== false })
    this.deliveries = ctx.deliveries
    return ctx
  }

  /** Within a tool of an agent of this home that agent is the one who asks; else a person. */
  protected get caller(): string | null {
    const { SUBSTRAT_AGENT: agentId = '', SUBSTRAT_LOG: log = '' } = process.env
    if (!isUuid(agentId)) return null
    if (this.openForRead()?.hasAgent(agentId) === true) return agentId
    // What an agent left running when it was removed is no person. An agent of another home is nobody here.
    if (!log.startsWith(`${this.homeRoot}/`)) return null
    throw new SubstratError(
      'AGENT_NOT_FOUND',
      `the agent of this tool, ${agentId}, is gone: it may do nothing`,
      {
        hint: 'end what it has left running',
        facts: { agent: agentId },
      },
    )
  }

  private get commandLine(): string {
    return `substrat ${this.id?.replaceAll(':', ' ') ?? ''}`.trim()
  }

  /** Of the home that `context` opened. */
  protected get settings(): Settings {
    this.knownSettings ??= Settings.read(this.openForRead())
    return this.knownSettings
  }

  /** Once an agent has that provider because nothing else was said: the default thinks nothing. */
  protected noteDefaultProvider(provider: string): void {
    const { value, source } = this.settings.get('provider')
    if (source !== 'default' || provider !== value) return
    this.note(
      `no provider is configured: using ${value}, which only echoes (substrat config set provider <name>)`,
    )
  }

  protected resolveForRead(word: string): { store: FileStore; agentId: string } {
    const store = this.openForRead()
    // Throws where there is no home, because then there is no agent either.
    const agentId = this.resolve(store, word)
    return { store: store as FileStore, agentId }
  }

  /** In a tool a name is first one of the agent's relatives. */
  private resolve(store: FileStore | undefined, word: string): string {
    const { caller } = this
    const from = caller === null || store === undefined ? undefined : readState(store, caller)
    if (from === undefined || store === undefined) return resolveAgent(store, word)
    const agentId = resolveRelative(store, from, word)
    // The person is written to, and is no agent.
    return agentId === OPERATOR ? resolveAgent(store, word) : agentId
  }

  /** An existing agent, for commands that write: no home is made to find that it has none. */
  protected resolveForWrite(word: string): string {
    return this.resolve(this.openForRead(), word)
  }

  /** The reply or the object, once; and why the exit status is not 0. */
  protected report({ result, failure }: Outcome): void {
    this.reporter?.clearSpinner()
    if (result.wait !== null) this.reportWait(result.wait, result.agent.id)
    stdout.keepRemedy(whereResultIs(result))
    if (failure === undefined || hasResult(failure.code)) {
      if (this.jsonEnabled()) this.printJson(result)
      else if (!this.isStream && result.reply !== null) this.print(result.reply)
    }
    if (failure === undefined) return
    const { said } = failure.facts
    // Not on stdout, where only a reply is; with `--json` it is in the error, with `--stream` it was there as it came.
    if (typeof said === 'string' && !this.jsonEnabled() && !this.isStream)
      this.note(`before it refused, the model said: ${said}`)
    this.fail(failure, !hasResult(failure.code))
  }

  /** What is asked, and the secret of the token: shown once, to whoever runs this command. */
  protected reportWait(wait: WaitView, agentId: string): void {
    wait.token = this.reporter?.takeSecret(agentId) ?? null
    if (this.jsonEnabled()) return
    for (const ask of wait.asks) this.note(`asks for ${callText(ask)}`)
    if (wait.token !== null) this.note(`token ${wait.token}`)
  }

  /** Alone on stdout, or on stderr where stdout is for a reply. */
  protected printAgentId(id: string, hasReply: boolean): void {
    if (hasReply || this.isStream) process.stderr.write(`${id}\n`)
    else if (!this.jsonEnabled()) this.print(id)
  }

  protected print(text: string): void {
    process.stdout.write(`${printableText(text, process.stdout)}\n`)
  }

  /** A result that is not a turn's: the object with `--json`, else its text. */
  protected printObject(object: object, text: string): void {
    if (this.jsonEnabled()) this.printJson(object)
    else this.print(text)
  }

  /** One of several that are acknowledged each by itself: a line each, also with `--json`. */
  protected printEach(object: object, text: string, isOneOfSeveral: boolean): void {
    if (isOneOfSeveral && this.jsonEnabled()) this.printJsonLine(object)
    else this.printObject(object, text)
  }

  /** Of each agent that a command visits, as it is done: its line, and why its exit status is not 0. No text: only with `--json`. */
  protected printResult(object: ResultEnd, text: string | null, failure: SubstratError | undefined): void {
    if (this.jsonEnabled()) this.printJsonLine(object)
    else if (text !== null) this.print(text)
    if (failure !== undefined) this.fail(failure, false)
  }

  protected printJson(value: unknown): void {
    process.stdout.write(`${JSON.stringify(value, null, 2)}\n`)
  }

  protected printJsonLine(value: unknown): void {
    process.stdout.write(`${JSON.stringify(value)}\n`)
  }

  /** Whether whoever reads stdout has been given all of it. */
  protected isPrinted(): Promise<boolean> {
    return new Promise((resolve) => {
      process.stdout.write('', (error) => resolve(error == null && this.isRead))
    })
  }

  protected note(text: string): void {
    process.stderr.write(`substrat: ${printableText(text, process.stderr)}\n`)
  }

  /** Sets the exit status, and says why. The first failure of a command is its exit status. */
  protected fail(error: SubstratError, printsJson = true): void {
    this.reporter?.clearSpinner()
    process.exitCode ??= error.exitStatus
    // The one line will say that the result could not be printed, and where it is.
    if (stdout.failure !== undefined && hasResult(error.code)) return
    if (this.jsonEnabled() && printsJson) this.printJson(errorJson(error))
    process.stderr.write(`${errorLine(error)}\n`)
    if (process.env.DEBUG) process.stderr.write(`${error.stack}\n${causeOf(error)}`)
  }

  // biome-ignore lint/suspicious/noExplicitAny: the signature is oclif's
  protected override async catch(error: any): Promise<void> {
    const { oclif } = error as { oclif?: { exit?: number } }
    // oclif ends some commands by an error that is none: `--help`, and `this.exit(0)`.
    if (oclif?.exit === 0) throw error
    this.fail(asSubstratError(error, this.commandLine))
  }

  /** From here on a signal ends the process as it would any other; the entry ends it once the output is read. */
  protected override async finally(): Promise<void> {
    // Also of a command that has no turn of its own: what it has caused is not left half-way.
    await this.deliveries?.untilIdle()
    this.reporter?.noteSecrets()
    this.shutdown?.close()
  }

  /** Our results are printed where they are known; oclif prints none. */
  protected override logJson(): void {}
}

function whereResultIs({ agent, wait }: Outcome['result']): string {
  const name = shellWord(agent.path)
  // The secret of a token is printed once; another one takes its place.
  if (wait !== null) return `the turn waits for a decision; mint a token anew: substrat token rotate ${name}`
  return `the turn's end and its reply are in the log: substrat show ${name} --reply`
}

function causeOf(error: SubstratError): string {
  return error.cause instanceof Error ? `caused by ${error.cause.stack}\n` : ''
}
