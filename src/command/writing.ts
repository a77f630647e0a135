/**
 * The base of the commands that write: the context of an operation, its outcome, and the end of what it began. A command that
 * only reads is a `BaseCommand`, which loads no engine.
 */

import { clock } from '../clock.js'
import { signsOf } from '../console/live/signs.js'
import { hasResult, whereResultIs } from '../console/output.js'
import { closingLine } from '../console/print/usage-line.js'
import { ConsoleReporter, isGiven } from '../console/reporter.js'
import { stderr, stdout } from '../console/stdio.js'
import { askText } from '../dispatch/ask-text.js'
import type { Context, OnCount } from '../dispatch/context.js'
import { withDeliveries } from '../dispatch/deliveries.js'
import type { Outcome } from '../dispatch/outcome.js'
import { SubstratError } from '../errors.js'
import type { ResultEnd, WaitView } from '../schema/output.js'
import { actAs } from '../session/actor.js'
import { boundsFrom } from '../settings/bounds.js'
import { channelVariables } from '../settings/channels.js'
import { outboundOf } from '../settings/outbound.js'
import { Settings } from '../settings/settings.js'
import { Shutdown, type StopSignal, stopSignals } from '../turn/stop.js'
import { actorHere } from './actor.js'
import { BaseCommand } from './base.js'
import { live, printToken } from './flags.js'

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

export abstract class WritingCommand extends BaseCommand {
  /** Repeated: oclif writes it into the manifest of a command only from a base that has static members of its own. */
  static override enableJsonFlag = true
  static override baseFlags = { live, 'print-token': printToken }

  private reporter: ConsoleReporter | undefined
  private shutdown: Shutdown | undefined
  private openContext: Context | undefined
  private trouble: SubstratError | undefined

  protected override async init(): Promise<void> {
    await super.init()
    for (const name of stopSignals()) process.on(name, this.onEarlySignal)
  }

  /** Before the first turn a signal ends the command, as by default, but says so. On disk is what a kill leaves. */
  private readonly onEarlySignal = (signal: StopSignal): void => {
    if (signal === 'SIGINT') stderr.endEcho()
    if (this.shutdown?.hearsSignals === true) return
    const when = this.openContext === undefined ? ' before it had changed anything' : ''
    this.fail(this.earlyEnd(signal) ?? new SubstratError(`STOPPED_${signal}`, `stopped by ${signal}${when}`))
    // At once: a command that went on could do what the line denies. A full pipe may lose the line.
    process.exit()
  }

  /** Undefined also if the store cannot be read now. */
  private earlyEnd(signal: StopSignal): SubstratError | undefined {
    try {
      return this.shutdown?.earlyEnd?.(signal)
    } catch {
      return undefined
    }
  }

  /** Creates the home if it is missing. */
  protected context(options: ContextOptions = {}): Context {
    const store = this.openForWrite()
    const { caller } = this
    actAs(actorHere(store, caller))
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
      caller,
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

  /**
   * For commands that run what is pending: with invalid settings they work with the defaults. A message would be refused then, so cron
   * must not see a success.
   */
  protected lenientContext(options: ContextOptions): Context {
    const trouble = this.settingsTrouble()
    // A file that cannot be read now may be valid.
    if (trouble?.code === 'STORAGE_FAILED') throw trouble
    this.trouble = trouble
    return this.context({ ...options, isLenient: true })
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

  /** Prints the reply, or with `--json` the object, once, and the reason for a nonzero exit. `wasAsked`: the person has seen the calls. */
  protected report({ result, failure }: Outcome, wasAsked = false): void {
    if (result.wait !== null && !wasAsked) this.reportWait(result.wait, result.agent.id)
    stdout.keepRemedy(whereResultIs(result))
    if (failure === undefined || hasResult(failure.code)) {
      if (this.jsonEnabled()) this.printJson(result)
      else if (!this.isStream && result.reply !== null && this.reporter?.hasShown(result.reply) !== true)
        this.print(result.reply)
    }
    if (failure !== undefined) this.reportFailure(failure)
    this.noteUsage(result)
  }

  private reportFailure(failure: SubstratError): void {
    const { said } = failure.facts
    // On stderr, because stdout is only for a reply. `--json` has it in the error; `--stream` printed it when it came.
    if (typeof said === 'string' && !this.jsonEnabled() && !this.isStream) this.reporter?.noteRefusal(said)
    this.fail(failure, !hasResult(failure.code))
    this.takeReport(failure)
  }

  /** The time and the usage of the turn, for a person. Not after a turn that an earlier command ran. */
  private noteUsage({ run }: Outcome['result']): void {
    if (this.reporter?.isLive !== true || this.jsonEnabled() || this.isStream || run?.ended_at == null) return
    const endedAt = Date.parse(run.ended_at)
    if (endedAt < clock.beganAt) return
    // Without the time in which the turn waited for this command.
    const beganAt = Math.max(Date.parse(run.started_at), clock.beganAt)
    stderr.write(`${closingLine(endedAt - beganAt, run.usage, signsOf())}\n`)
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
    if (wait.token !== null && this.printsTokens) this.note(`token ${wait.token}`)
  }

  /** Not unasked: the stderr of a job from cron goes into mail, and that of CI into logs. */
  protected get printsTokens(): boolean {
    return isGiven(this.argv, '--print-token')
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

  /** After this, a signal ends the process as by default. The entry ends the process once the output is written. */
  protected override async finally(): Promise<void> {
    // A command without a turn of its own also completes the deliveries that it started.
    await this.openContext?.deliveries.untilIdle()
    await this.openContext?.outbound.untilSent()
    if (this.printsTokens) this.reporter?.noteSecrets()
    if (this.trouble !== undefined) process.exitCode ||= this.trouble.exitStatus
    this.reporter?.close()
    this.shutdown?.close()
    for (const name of stopSignals()) process.off(name, this.onEarlySignal)
  }
}
