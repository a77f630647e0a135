/**
 * The only loop of a turn: decide, make the records durable, then perform the effect, and feed back what came of it.
 *
 * What is on disk if we die: before a persist, nothing of the step; after it, the records that name what we were about
 * to do, which the recovery table has a row for.
 */
import { type ErrorCode, SubstratError } from '../errors.js'
import { limits } from '../limits.js'
import { controlRecords, syncBeforeForgetting } from '../mail/inbox.js'
import type {
  AgentProvider,
  LaunchCommand,
  LaunchedProgram,
  McpStdioServer,
  ModelProvider,
  Provider,
  ProviderSettings,
  ToolCall,
} from '../provider/contract.js'
import { type FailureReport, saysNothing } from '../provider/failure.js'
import { ofLaunch } from '../provider/mark.js'
import { createHost, killStrays } from '../provider/program.js'
import { causeOf } from '../session/causes.js'
import type { CallRecord, ProcessGroup, RunError } from '../session/records.js'
import type { Session } from '../session/session.js'
import type { Run } from '../session/state.js'
import { type AgentOutcome, askAgent } from './ask/ask-agent.js'
import { askModel } from './ask/ask-model.js'
import { overtaken, ProgramCalls } from './ask/program-calls.js'
import { StrayErrors } from './ask/stray-errors.js'
import { shortened } from './asks.js'
import { type MintedToken, mintToken } from './decision.js'
import { compact } from './prompt/compact.js'
import { openCalls } from './prompt/history.js'
import { step, withRest } from './step/step.js'
import type { Effect, RetryPlan, ToolOutcome, TurnEvent } from './step/turn-event.js'
import type { TurnStop } from './stop.js'
import type { ToolCaller } from './tools/tool.js'
import type { Toolbox } from './tools/toolbox.js'

export interface TurnPorts {
  provider: Provider
  settings: ProviderSettings
  toolbox: Toolbox
  /** SUBSTRAT_* for the programs of the run. */
  environment(run: Run): Record<string, string>
  /** A slot for one call of the provider: given back before tools run and while nothing is asked. */
  takeSlot(signal?: AbortSignal): Promise<{ release(): Promise<void> }>
  planRetry(error: RunError, failures: number, retryAfterMs: number | null): RetryPlan
  /** ISO 8601: when a token that is minted now expires. */
  tokenExpiry(): string
  /** The secret of a token, once, after it is on disk. */
  onToken(secret: string): void
  onText(text: string): void
  note(text: string): void
  /** How the program reaches them. */
  programTools(run: Run): McpStdioServer | null
  /** Serves the tools of docs/tools.md to the program of an agent provider, for the length of its turn. */
  serveTools(call: ToolCaller): Promise<{ close(): void }>
  /** Whether a server of an agent's program may outlive the turn. */
  keepsServers: boolean
  /** Whether the session comes to rest with the end of this run: asked when the run ends. */
  isLast(): boolean
}

/** The run as it ended or was parked. Throws only where storage failed; then the run is open on disk, for recovery. */
export async function drive(
  session: Session,
  first: TurnEvent,
  ports: TurnPorts,
  openStop: (run: Run) => TurnStop,
): Promise<Run> {
  // Before anything of the run is stored: where no slot becomes free, nothing has happened.
  const { effect: begins } = step(session.state, first, ports.toolbox.policy)
  const slot = begins?.type === 'ask' ? await ports.takeSlot() : undefined
  const turn = new Turn(session, ports, slot)
  try {
    let effect = turn.persist(first)
    turn.stop = openStop(session.state.run as Run)
    while (effect !== undefined) effect = turn.persist(await turn.perform(effect))
    return session.state.run as Run
  } finally {
    await turn.close()
  }
}

class Turn {
  stop: TurnStop = {
    signal: new AbortController().signal,
    reason: () => 'shutdown',
    isShuttingDown: async () => false,
    mayHaveCaused: () => false,
    endIfShuttingDown: () => undefined,
    close: () => undefined,
  }
  private readonly strays = new StrayErrors()
  /** Calls that this process has begun; any other was begun by one that is gone. */
  private readonly begun = new Set<string>()
  private readonly servers: ProcessGroup[] = []

  constructor(
    private readonly session: Session,
    private readonly ports: TurnPorts,
    private slot: { release(): Promise<void> } | undefined,
  ) {}

  persist(event: TurnEvent): Effect | undefined {
    const { records, effect } = step(this.session.state, event, this.ports.toolbox.policy)
    for (const record of records) if (record.kind === 'tool.started') this.begun.add(record.call_id)
    const rested = withRest(this.session.state, records)
    const isEnd = rested.length > records.length
    // What was asked of the agent meanwhile counts before its turn is over: who watches it is told of this end.
    const before = isEnd ? [...controlRecords(this.session), ...overtaken(this.session.state.run)] : []
    const all = [...before, ...(isEnd && this.ports.isLast() ? rested : records)]
    // Controls, and replies that are the results of calls.
    const ids = all.filter(({ kind }) => kind === 'mail.delivered' || kind.startsWith('agent.')).length
    if (ids > 0) syncBeforeForgetting(this.session, ids)
    this.session.append(all)
    return effect
  }

  /** What came of the effect. A turn that is stopped while it waits for a slot is stopped, not failed. */
  async perform(effect: Effect): Promise<TurnEvent> {
    try {
      return await this.act(effect)
    } catch (error) {
      if (!this.stop.signal.aborted || !isCode(error, 'NO_SLOT')) throw error
      return { type: 'stopped', reason: this.stop.reason(), state: null, result: null }
    }
  }

  private async act(effect: Effect): Promise<TurnEvent> {
    if (this.stop.signal.aborted)
      return { type: 'stopped', reason: this.stop.reason(), state: null, result: null }
    switch (effect.type) {
      case 'ask':
        return this.ask()
      case 'run_tool':
        return this.runTool(effect.call_id)
      case 'park':
        return this.park(effect.call_ids)
      case 'pause':
        return this.pause(effect.ms)
      case 'compact':
        return this.compact(this.ports.provider as ModelProvider)
    }
  }

  async close(): Promise<void> {
    this.strays.close()
    this.stop.close()
    await this.releaseSlot()
    await this.ports.toolbox.stop()
    // As of an agent's program: what it has started apart outlives only a turn that came to its end.
    if (this.session.state.run?.status !== 'completed') await this.killApart(this.servers)
  }

  /** What the programs in these groups have started in groups of their own. */
  private async killApart(groups: ProcessGroup[]): Promise<void> {
    for (const group of groups) {
      const mark = ofLaunch(group, this.session.store.root)
      if (mark !== undefined) await killStrays(group, mark)
    }
  }

  private async ask(): Promise<TurnEvent> {
    const { provider, settings, toolbox, onText } = this.ports
    if (provider.kind === 'agent') return this.askAgent(provider)
    await this.startServers()
    if (this.stop.signal.aborted)
      return { type: 'stopped', reason: this.stop.reason(), state: null, result: null }
    this.slot ??= await this.ports.takeSlot(this.stop.signal)
    const ends = { signal: this.stop.signal, strays: this.strays }
    const asked = await askModel(this.session, provider, settings, toolbox.definitions, ends, onText)
    await this.releaseSlot()
    if (asked.outcome === 'stopped')
      return { type: 'stopped', reason: this.stop.reason(), state: null, result: null }
    if (asked.outcome === 'failed') {
      // Whatever its model was reached by may have had the signal too; and nothing is asked again after one.
      if (saysNothing(asked.error) && (await this.stop.isShuttingDown(false)))
        return { type: 'stopped', reason: 'shutdown', state: null, result: null }
      return this.failed(asked)
    }
    const { reply, stop, usage, calls } = asked.answer
    if (stop === 'length') this.ports.note('the response reached its token limit: it is cut off there')
    return { type: 'model_responded', reply, stop, usage, calls: this.stored(calls) }
  }

  private async askAgent(provider: AgentProvider): Promise<TurnEvent> {
    const { settings, toolbox, environment, onText, note } = this.ports
    const calls = new ProgramCalls({
      session: this.session,
      toolbox,
      signal: this.stop.signal,
      endIfShuttingDown: () => this.stop.endIfShuttingDown(),
      persist: (event) => void this.persist(event),
      stored: (call) => this.stored([call])[0] as CallRecord,
      lendSlot: () => this.releaseSlot(),
      takeSlotBack: async () => {
        this.slot ??= await this.ports.takeSlot(this.stop.signal)
      },
    })
    const served = await this.ports
      .serveTools((name, input, signal) => calls.call(name, input, signal))
      .catch((error) => this.withoutTools(error))
    try {
      const asked = await askAgent(this.session, provider, {
        settings,
        stop: this.stop,
        strays: this.strays,
        environment: environment(this.session.state.run as Run),
        tools: this.ports.programTools(this.session.state.run as Run),
        keepsServer: () => this.ports.keepsServers && !calls.isDone,
        // An agent that is done has said its last words by `complete`.
        persist: (event) =>
          void (event.type === 'agent_replied' && calls.isDone ? undefined : this.persist(event)),
        stored: (call) => this.stored([call])[0] as CallRecord,
        onText,
        note,
      })
      return calls.isDone ? done(asked) : this.cameTo(asked)
    } finally {
      calls.close()
      served.close()
    }
  }

  private cameTo(asked: AgentOutcome): TurnEvent {
    switch (asked.type) {
      case 'asks': {
        const { wait, asks, state } = asked
        return { type: 'program_waits', wait, asks, state, token: this.newToken() }
      }
      case 'failed': {
        const { type: _, retryAfterMs, ...failed } = asked
        // The program has tried again itself, as often as it saw fit.
        const { notBefore } = this.ports.planRetry(failed.error, Number.POSITIVE_INFINITY, retryAfterMs)
        if (notBefore === null) return { type: 'failed', ...failed }
        return { type: 'program_limited', state: null, ...failed, notBefore }
      }
      case 'killed':
        return { type: 'program_killed', error: asked.error }
      default:
        return asked
    }
  }

  /** The secret is told once it can be used, and is nowhere else. */
  private newToken(): MintedToken {
    const { token, secret } = mintToken(this.ports.tokenExpiry())
    this.session.onceDurable('run.waiting', () => this.ports.onToken(secret))
    return token
  }

  /** A file system without sockets leaves the program without our tools, not without its turn. */
  private withoutTools(error: Error): { close(): void } {
    this.ports.note(`the program is offered no tools of substrat: ${error.message}`)
    return { close: () => undefined }
  }

  /** Once in a turn; also where it begins with a call, after a decision or a crash. */
  private startServers(): Promise<void> {
    const { toolbox, note } = this.ports
    return toolbox.start(
      (server, command) =>
        this.launch(command, (group) => {
          this.servers.push(group)
          this.persist({ type: 'server_launched', server, group })
        }),
      this.stop.signal,
      note,
    )
  }

  private failed({ retryAfterMs, ...failed }: FailureReport): TurnEvent {
    const { error } = failed
    const plan = this.ports.planRetry(error, (this.session.state.run as Run).failures, retryAfterMs)
    if (plan.retryInMs !== null)
      this.ports.note(`${causeOf(error)}; trying again in ${plan.retryInMs / 1000} s`)
    return { type: 'model_failed', ...failed, plan }
  }

  private async runTool(callId: string): Promise<TurnEvent> {
    const call = openCalls(this.session).find(({ call_id }) => call_id === callId)
    if (call === undefined) throw new Error(`the call ${callId} is not in the log`)
    if (!this.ports.toolbox.has(call.name)) await this.startServers()
    let broken: unknown
    const groups: ProcessGroup[] = []
    const launch = async (command: LaunchCommand): Promise<LaunchedProgram> => {
      try {
        return await this.launch(command, (group) => {
          groups.push(group)
          this.persist({ type: 'tool_launched', call_id: callId, group })
        })
      } catch (error) {
        broken = error
        throw error
      }
    }
    const { run_id, allow, calls, calls_at } = this.session.state.run as Run
    const isApproved = calls.some(({ call_id, isApproved: is }) => call_id === callId && is)
    const made_at = `${this.session.id}/${calls_at?.seq}/${callId}`
    const isRepeat = !this.begun.has(callId)
    const facts = { run_id, call_id: callId, made_at, allow, isRepeat, isApproved }
    const ran = await this.ports.toolbox.run(call, facts, this.stop.signal, launch)
    const { whole, isStopped = false, isOpen, end, ...outcome } = ran
    if (isStopped) await this.killApart(groups)
    if (broken instanceof SubstratError) throw broken
    const output = whole === null ? null : this.session.writeBlob(whole)
    const result = { call_id: callId, ...outcome, output }
    // The call runs again when the turn continues, and then has the reply.
    if (isOpen === true) this.stop.endIfShuttingDown()
    if (this.stop.signal.aborted) {
      const reason = this.stop.reason()
      return { type: 'stopped', reason, state: null, result: isOpen === true ? null : result }
    }
    if (end !== undefined && (await this.stop.isShuttingDown(end === 'killed'))) {
      await this.killApart(groups)
      return { type: 'stopped', reason: 'shutdown', state: null, result: unknownOutcome(result) }
    }
    return { type: 'tool_finished', ...result }
  }

  private async park(callIds: string[]): Promise<TurnEvent> {
    const asked = openCalls(this.session).filter(({ call_id }) => callIds.includes(call_id))
    const room = Math.floor(limits.asksCharactersMax / asked.length)
    const asks = asked.map(({ call_id, name, input }) => ({
      call_id,
      tool: name,
      input: shortened(input, room),
    }))
    return { type: 'parked', token: this.newToken(), asks }
  }

  private pause(ms: number): Promise<TurnEvent> {
    const { signal } = this.stop
    return new Promise((resolve) => {
      const stopped = (): void => {
        clearTimeout(timer)
        resolve({ type: 'stopped', reason: this.stop.reason(), state: null, result: null })
      }
      const timer = setTimeout(() => {
        signal.removeEventListener('abort', stopped)
        resolve({ type: 'retry' })
      }, ms)
      signal.addEventListener('abort', stopped, { once: true })
    })
  }

  private async compact(provider: ModelProvider): Promise<TurnEvent> {
    this.slot ??= await this.ports.takeSlot(this.stop.signal)
    this.ports.note('the conversation is too long for the model: compacting it')
    const compacted = await compact(this.session, provider, this.ports.settings, {
      signal: this.stop.signal,
      strays: this.strays,
    })
    if (this.stop.signal.aborted)
      return { type: 'stopped', reason: this.stop.reason(), state: null, result: null }
    if (compacted !== undefined) return compacted
    if (await this.stop.isShuttingDown(false))
      return { type: 'stopped', reason: 'shutdown', state: null, result: null }
    const message = 'the conversation is too long for the model, and could not be made shorter'
    return { type: 'failed', error: { type: 'overflow', message } }
  }

  private launch(
    command: LaunchCommand,
    record: (group: Parameters<Parameters<typeof createHost>[0]['record']>[0]) => void,
  ): Promise<LaunchedProgram> {
    const { provider, settings } = this.ports
    const environment = this.ports.environment(this.session.state.run as Run)
    // What a tool prints is in the log, and no key of a provider may be.
    const withheld = provider.secrets?.(settings) ?? []
    return createHost({ environment, withheld, record }).launch(command, { signal: this.stop.signal })
  }

  /** As they fit a line together. */
  private stored(calls: ToolCall[]): CallRecord[] {
    let room: number = limits.callInputsBytesMax
    return calls.map(({ call_id, name, input }) => {
      const bytes = Buffer.from(JSON.stringify(input))
      if (bytes.length > Math.min(limits.inlineBytesMax, room))
        return { call_id, name, input_blob: this.session.writeBlob(bytes) }
      room -= bytes.length
      return { call_id, name, input }
    })
  }

  private async releaseSlot(): Promise<void> {
    const { slot } = this
    this.slot = undefined
    await slot?.release()
  }
}

function isCode(error: unknown, code: ErrorCode): boolean {
  return error instanceof SubstratError && error.code === code
}

/** The signal that stops substrat has gone to its tools too: what is left of one is no answer that a model may go by. */
function unknownOutcome(result: ToolOutcome): ToolOutcome {
  const content = `Interrupted: substrat was stopped while this ran, and it may have had the same signal; what it had done by then is unknown. It said:\n${result.content}`
  return { ...result, content }
}

/** Whatever its program came to after that. */
function done(asked: AgentOutcome): TurnEvent {
  const state = 'state' in asked ? asked.state : null
  const usage = 'usage' in asked ? (asked.usage ?? null) : null
  return { type: 'released', state, usage, terminates: true }
}
