/**
 * The only loop of a turn: decide, make the records durable, perform the effect, and feed its outcome back as an event.
 *
 * A crash before a persist leaves nothing of the step on disk. A crash after it leaves records that name the intended
 * effect, and the recovery table has a row for each.
 */
import { type ErrorCode, SubstratError } from '../errors.js'
import { limits } from '../limits.js'
import type { AgentProvider, ModelProvider, ProviderSettings } from '../provider/contract.js'
import { type FailureReport, saysNothing } from '../provider/failure.js'
import { causeOf } from '../schema/reasons.js'
import type { CallRecord } from '../schema/types.js'
import type { NewRecord } from '../session/records.js'
import type { Session } from '../session/session.js'
import type { Run } from '../session/state.js'
import { appendStep } from './append-step.js'
import type { AgentOutcome } from './ask/ask-agent.js'
import { askModel } from './ask/ask-model.js'
import { emptyAnswer, incompleteText } from './ask/no-answer.js'
import { ProgramCalls } from './ask/program-calls.js'
import { NO_RETRY } from './ask/retry.js'
import { callRecords, storedItems } from './ask/stored.js'
import { UncaughtErrors } from './ask/uncaught-errors.js'
import { shortenedInput } from './asks.js'
import { Holds } from './budget/holds.js'
import { callPolicy } from './call-policy.js'
import { Compaction } from './compaction.js'
import { pause } from './pause.js'
import type { TurnPorts } from './ports.js'
import { spoiledInARow } from './prompt/answered-before.js'
import { openCalls } from './prompt/calls.js'
import { usedByRequest, usedFields } from './step/records.js'
import { step } from './step/step.js'
import type { Effect, Step, TurnEvent } from './step/turn-event.js'
import type { TurnStop } from './stop.js'
import { type MintedToken, mintToken } from './tokens.js'
import { ToolRuns } from './tool-runs.js'

/** Returns the run as it ended or was parked. Throws if storage fails: the run then stays open on disk, for recovery. */
export async function drive(
  session: Session,
  first: TurnEvent,
  ports: TurnPorts,
  openStop: (run: Run) => TurnStop,
): Promise<Run> {
  // The slot comes before the first record: if no slot becomes free, the log does not change.
  const { effect: begins } = step(session.state, first, callPolicy(session, ports.toolbox.policy, first))
  const slot = begins?.type === 'ask' ? await ports.takeSlot() : undefined
  const turn = new Turn(session, ports, slot)
  try {
    let effect = await turn.next(first)
    turn.stop = openStop(session.state.run as Run)
    while (effect !== undefined) effect = await turn.next(await turn.perform(effect))
    return session.state.run as Run
  } finally {
    await turn.close()
  }
}

class Turn {
  stop: TurnStop = {
    signal: new AbortController().signal,
    reason: () => 'shutdown',
    askedBy: () => undefined,
    isShuttingDown: async () => false,
    mayHaveCaused: () => false,
    endIfShuttingDown: () => undefined,
    close: () => undefined,
  }
  readonly uncaught = new UncaughtErrors()
  private readonly tools: ToolRuns
  private readonly compaction: Compaction
  private readonly held: Holds

  constructor(
    private readonly session: Session,
    private readonly ports: TurnPorts,
    private slot: { release(): Promise<void> } | undefined,
  ) {
    this.tools = new ToolRuns(session, ports, this)
    this.compaction = new Compaction(session, ports, this)
    this.held = new Holds(session, ports, {
      tried: () => this.compaction.tried,
      newToken: (from) => this.newToken(from),
    })
  }

  persist(event: TurnEvent): Effect | undefined {
    const { records, effect } = this.decide(event)
    this.record(this.held.take(records))
    return effect
  }

  /** The same. Where a cap is over the agent, a request to its model holds what it may use, in the same batch. */
  async next(event: TurnEvent): Promise<Effect | undefined> {
    const { records, effect } = this.decide(event)
    if (!this.held.isFor(records)) {
      this.record(this.held.take(records))
      return effect
    }
    const asks = await this.held.beforeRequest(records).catch((error) => {
      // Without the request nothing is lost: the log has the step before it.
      this.record(records.filter(({ kind }) => kind !== 'model.requested'))
      throw error
    })
    this.record(asks.records)
    await this.held.publish()
    return asks.effect === 'same' ? effect : asks.effect
  }

  private decide(event: TurnEvent): Step {
    return step(
      this.session.state,
      event.type === 'stopped' ? { ...event, by: this.stop.askedBy() } : event,
      callPolicy(this.session, this.ports.toolbox.policy, event),
    )
  }

  private record(records: NewRecord[]): void {
    this.tools.note(records)
    appendStep(this.session, this.ports, records)
  }

  /** Returns the effect's outcome. If the turn is stopped while it waits for a slot, it counts as stopped, not failed. */
  async perform(effect: Effect): Promise<TurnEvent> {
    try {
      return await this.act(effect)
    } catch (error) {
      if (!this.stop.signal.aborted || !isCode(error, 'NO_SLOT')) throw error
      return this.stopped()
    }
  }

  private stopped(asked: Parameters<typeof usedByRequest>[0] = {}): TurnEvent {
    return { type: 'stopped', reason: this.stop.reason(), state: null, result: null, ...usedByRequest(asked) }
  }

  private async act(effect: Effect): Promise<TurnEvent> {
    if (this.stop.signal.aborted) return this.stopped()
    switch (effect.type) {
      case 'ask':
        return this.ask()
      case 'run_tool':
        return this.tools.run(effect.call_id)
      case 'park':
        return this.park(effect.call_ids)
      case 'pause':
        return this.pauseBefore(effect)
      case 'compact':
        return this.compaction.run(this.ports.provider as ModelProvider, () => this.holdFor('summary'))
      case 'await_budget':
        return this.awaitBudget(effect.why)
    }
  }

  async close(): Promise<void> {
    this.uncaught.close()
    this.stop.close()
    await this.held.publish().catch(() => undefined)
    await this.releaseSlot()
    await this.ports.toolbox.stop()
    // As with an agent program: processes in groups of their own may outlive only a completed turn.
    if (this.session.state.run?.status !== 'completed') await this.tools.killEscapedFromServers()
  }

  private async ask(): Promise<TurnEvent> {
    const { provider, settings, toolbox, onText } = this.ports
    if (provider.kind === 'agent') return (await this.holdFor('program')) ?? this.askAgent(provider)
    await this.tools.startToolServers()
    if (this.stop.signal.aborted) return this.stopped()
    await this.takeSlot()
    const ends = { signal: this.stop.signal, uncaught: this.uncaught }
    const { tried } = this.compaction
    const bounded = this.held.bounded(settings)
    const asked = await askModel(this.session, provider, bounded, toolbox.definitions, ends, onText, tried)
    await this.releaseSlot()
    if (asked.outcome === 'stopped') return this.stopped(asked)
    if (asked.outcome === 'failed') {
      // The stop signal may also have killed a process that connects to the model. After a signal, no request is retried.
      if (saysNothing(asked.error) && (await this.stop.isShuttingDown(false)))
        return { type: 'stopped', reason: 'shutdown', state: null, result: null, ...usedByRequest(asked) }
      return this.failedEvent(asked)
    }
    const { calls, items, ...answer } = asked.answer
    const empty = emptyAnswer(this.session.state.run as Run, asked.answer)
    // The same request would use up the same limit.
    if (empty !== undefined) return this.failedEvent(empty, answer.stop === 'length' ? NO_RETRY : undefined)
    if (answer.incomplete !== undefined) this.ports.note(incompleteText(answer.incomplete))
    const stored = { calls: callRecords(this.session, calls), ...storedItems(this.session, items) }
    const spoiledBefore = spoiledInARow(this.session, calls)
    return { type: 'model_responded', ...answer, ...stored, spoiledBefore, ...this.compaction.adopt() }
  }

  private async askAgent(provider: AgentProvider): Promise<TurnEvent> {
    const { askAgent } = await import('./ask/ask-agent.js')
    const { settings, toolbox, environment, onText, onProgress, note } = this.ports
    const calls = new ProgramCalls({
      session: this.session,
      toolbox,
      signal: this.stop.signal,
      endIfShuttingDown: () => this.stop.endIfShuttingDown(),
      persist: (event) => void this.persist(event),
      stored: (call) => callRecords(this.session, [call])[0] as CallRecord,
      lendSlot: () => this.releaseSlot(),
      takeSlotBack: () => this.takeSlot(),
    })
    const served = this.ports.serveTools((name, input, signal) => calls.call(name, input, signal))
    await served.listen().catch((error) => this.noteNoSocket(error))
    const tools = this.ports.programTools(this.session.state.run as Run)
    try {
      const asked = await askAgent(this.session, provider, {
        settings,
        stop: this.stop,
        uncaught: this.uncaught,
        environment: environment(this.session.state.run as Run),
        budgetUsd: this.held.usd,
        tools: tools === null ? null : { ...tools, respond: served.respond },
        keepsServer: () => this.ports.keepsServers && !calls.isDone,
        // The result of `complete` is the agent's last reply: drop any later one.
        persist: (event) =>
          void (event.type === 'agent_replied' && calls.isDone ? undefined : this.persist(event)),
        callRecord: (call) => callRecords(this.session, [call])[0] as CallRecord,
        onText,
        onUsage: (usage) => onProgress({ type: 'usage', usage }),
        onStderr: (text) => onProgress({ type: 'stderr', text }),
        history: () => this.ports.history(),
        note,
      })
      return calls.isDone ? doneEvent(asked) : ((await this.overBudgetAfter(asked)) ?? this.cameTo(asked))
    } finally {
      calls.close()
      served.close()
    }
  }

  /** A program that stopped at its limit waits for the budget, if a cap is reached. */
  private async overBudgetAfter(asked: AgentOutcome): Promise<TurnEvent | undefined> {
    if (asked.type !== 'failed' || asked.budget_reached !== true) return undefined
    const { run_id } = this.session.state.run as Run
    const ended: NewRecord = { kind: 'run.waiting', run_id, wait: 'not_before', ...usedFields(asked) }
    const over = await this.held.overAfter([ended])
    return over && { ...over, ended: { error: asked.error, ...usedFields(asked) } }
  }

  private cameTo(asked: AgentOutcome): TurnEvent {
    switch (asked.type) {
      case 'asks': {
        return { ...asked, type: 'program_waits', token: this.newToken() }
      }
      case 'failed': {
        const { type: _, retryAfterMs, ...failed } = asked
        // The program has its own retries.
        const { notBefore } = this.ports.planRetry(failed.error, NO_RETRY, retryAfterMs, this.waitsSoFar())
        if (notBefore === null) return { type: 'failed', ...failed }
        return { type: 'program_limited', state: null, ...failed, notBefore }
      }
      case 'killed':
        return { ...asked, type: 'program_killed' }
      case 'released':
        // The record of the reply has the usage.
        return { type: 'released', state: asked.state, terminates: false }
      default:
        return asked
    }
  }

  /** Prints the secret once its record is durable. The secret is stored nowhere. */
  private newToken(expiresAt = this.ports.tokenExpiry()): MintedToken {
    const { token, secret } = mintToken(expiresAt)
    this.session.onceDurable('run.waiting', () => this.ports.onToken(secret))
    return token
  }

  /** Undefined once the budgets allow it. Otherwise the event that ends or parks the turn. */
  private async holdFor(what: 'summary' | 'program'): Promise<TurnEvent | undefined> {
    for (;;) {
      const found = await this.held.before(what)
      if (found === undefined) return undefined
      // A summary has no record of its own before its request.
      if (found.type === 'held') return what === 'summary' ? void this.record([found.record]) : undefined
      if (found.type === 'over_budget') return found
      const event = await this.awaitBudget(found.why)
      if (event.type !== 'retry') return event
    }
  }

  private async awaitBudget(why: string): Promise<TurnEvent> {
    await this.releaseSlot()
    const event = await pause(this.held.pauseMs(why), this.stop)
    if (event.type === 'retry') await this.takeSlot()
    return event
  }

  /** On a file system without sockets the turn runs, but without substrat's tools. */
  private noteNoSocket(error: Error): void {
    this.ports.note(`substrat's tools are not available to the program: ${error.message}`)
  }

  private failedEvent({ retryAfterMs, ...report }: FailureReport, attempts?: number): TurnEvent {
    const failed = this.compaction.afterFailure(report)
    const { failures } = this.session.state.run as Run
    const waits = failed.error.type === 'rate_limit' ? this.waitsSoFar() : 0
    const plan = this.ports.planRetry(failed.error, attempts ?? failures, retryAfterMs, waits)
    if (plan.retryInMs !== null)
      this.ports.note(`${causeOf(failed.error)}; trying again in ${plan.retryInMs / 1000} s`)
    return { type: 'model_failed', ...failed, plan }
  }

  /** How often the run has waited for the end of a limit since its latest answer. */
  private waitsSoFar(): number {
    const { start } = this.session.state.run as Run
    let waits = 0
    for (const record of this.session.recordsOfKinds(start, [
      'run.waiting',
      'model.responded',
      'message.agent',
    ]))
      waits = record.kind === 'run.waiting' ? waits + (record.wait === 'not_before' ? 1 : 0) : 0
    return waits
  }

  private async park(callIds: string[]): Promise<TurnEvent> {
    const asked = openCalls(this.session).filter(({ call_id }) => callIds.includes(call_id))
    const room = Math.floor(limits.asksCharactersMax / asked.length)
    const asks = asked.map(({ call_id, name, input }) => ({
      call_id,
      tool: name,
      input: shortenedInput(input, room),
    }))
    return { type: 'parked', token: this.newToken(this.earliestDeadline(callIds)), asks }
  }

  /** The tools of deferred calls may name earlier deadlines than the setting. None may name a later one. */
  private earliestDeadline(callIds: string[]): string {
    const { calls } = this.session.state.run as Run
    const deadlines = calls.flatMap(({ call_id, deadline_at }) =>
      deadline_at !== undefined && callIds.includes(call_id) ? [deadline_at] : [],
    )
    return [...deadlines, this.ports.tokenExpiry()].reduce((a, b) => (a < b ? a : b))
  }

  /** The pause before a request to the model, or before another request for a summary. */
  private async pauseBefore({ ms, before }: Extract<Effect, { type: 'pause' }>): Promise<TurnEvent> {
    const event = await pause(ms, this.stop)
    return event.type === 'retry' && before === 'compact' ? this.perform({ type: 'compact' }) : event
  }

  bounded(settings: ProviderSettings): ProviderSettings {
    return this.held.bounded(settings)
  }

  async takeSlot(): Promise<void> {
    this.slot ??= await this.ports.takeSlot(this.stop.signal)
  }

  async releaseSlot(): Promise<void> {
    const { slot } = this
    this.slot = undefined
    await slot?.release()
  }
}

function isCode(error: unknown, code: ErrorCode): boolean {
  return error instanceof SubstratError && error.code === code
}

/** Once `complete` is recorded, the turn completes even if the program then fails. */
function doneEvent(asked: AgentOutcome): TurnEvent {
  const state = 'state' in asked ? asked.state : null
  return { type: 'released', state, terminates: true, ...usedFields(asked) }
}
