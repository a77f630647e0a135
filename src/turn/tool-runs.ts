/** Runs tools for a turn's model, and starts the tool servers they need. */
import { clock } from '../clock.js'
import { SubstratError } from '../errors.js'
import type { ToolCall } from '../provider/contract.js'
import type { LaunchCommand, LaunchedProgram } from '../provider/host-contract.js'
import { killEscaped, tagOfLaunch } from '../provider/process-group.js'
import { createHost } from '../provider/program.js'
import type { ProcessGroup } from '../schema/types.js'
import { deriveId } from '../session/ids.js'
import type { NewRecord, SessionRecord } from '../session/records.js'
import type { Session } from '../session/session.js'
import type { Call, Location, Run } from '../session/state.js'
import type { TurnPorts } from './ports.js'
import { openCalls } from './prompt/calls.js'
import { isRepeatable, type StopReason, type ToolOutcome, type TurnEvent } from './step/turn-event.js'
import type { TurnStop } from './stop.js'
import { UNKNOWN_OUTCOME } from './tools/on-unknown.js'
import { type CallIdentity, variablesOf } from './tools/tool.js'
import { cappedResult, type ToolResult } from './tools/toolbox.js'

/** The turn that runs the tools. */
interface Runner {
  stop: TurnStop
  persist(event: TurnEvent): unknown
}

export class ToolRuns {
  /** The calls that this process began. A process that died may have begun any other call. */
  private readonly begun = new Set<string>()
  private readonly servers: ProcessGroup[] = []

  constructor(
    private readonly session: Session,
    private readonly ports: TurnPorts,
    private readonly turn: Runner,
  ) {}

  /** Notes the calls that these records begin. */
  note(records: NewRecord[]): void {
    for (const record of records) if (record.kind === 'tool.started') this.begun.add(record.call_id)
  }

  /** Starts the tool servers once per turn; also for a turn that begins with a call, after a decision or a crash. */
  startToolServers(): Promise<void> {
    const { toolbox, note } = this.ports
    return toolbox.start(
      (server, command) =>
        this.launch(command, (group) => {
          this.servers.push(group)
          this.turn.persist({ type: 'server_launched', server, group })
        }),
      this.turn.stop.signal,
      note,
      (failure) => void this.turn.persist({ type: 'server_failed', ...failure }),
    )
  }

  async run(call_id: string): Promise<TurnEvent> {
    const made = openCalls(this.session)
    const index = made.findIndex((each) => each.call_id === call_id)
    const call = made[index]
    if (call === undefined) throw new Error(`the call ${call_id} is not in the log`)
    if (!this.ports.toolbox.has(call.name)) await this.startToolServers()
    const { run_id, allow, calls, calls_at, key } = this.session.state.run as Run
    const { isApproved, status, attempts = 1 } = calls.find((each) => each.call_id === call_id) as Call
    const isRepeat = !this.begun.has(call_id)
    const isCutShort = isRepeat && status === 'started' && !isRepeatable(this.ports.toolbox.policy, call.name)
    const identity = {
      id: callId(this.session, calls_at as Location, index),
      attempt: isCutShort ? attempts + 1 : attempts,
      message_key: key,
    }
    if (isCutShort) {
      const over = await this.overBefore(call, identity, attempts)
      if (over !== undefined) return over
    }
    const launcher = new Launcher((command, group) => this.launch(command, group, identity))
    const attempt = isCutShort ? { attempt: identity.attempt } : {}
    const record = (group: ProcessGroup): void =>
      void this.turn.persist({ type: 'tool_launched', call_id, group, ...attempt })
    const made_at = `${this.session.id}/${calls_at?.seq}/${call_id}`
    const facts = { run_id, call_id, made_at, identity, allow, isRepeat, isApproved }
    this.ports.onProgress({ type: 'call', call_id, tool: call.name, input: call.input })
    const ran = await this.ports.toolbox.run(call, facts, this.turn.stop.signal, (command) =>
      launcher.launch(command, record),
    )
    const { whole, isStopped = false, isOpen, end, deferred, ...outcome } = ran
    if (isStopped) await this.killEscapedFrom(launcher.groups)
    if (launcher.broken instanceof SubstratError) throw launcher.broken
    // The call did not start again, but it may have had its effect before.
    if (isCutShort && launcher.broken !== undefined) return undecided(call)
    const output = whole === null || deferred !== undefined ? null : this.session.writeBlob(whole)
    const result = { call_id, ...outcome, output, ...deferralOf(deferred) }
    // The call runs again when the turn continues, and returns the reply then.
    if (isOpen === true) this.turn.stop.endIfShuttingDown()
    if (this.turn.stop.signal.aborted) {
      const reason = this.turn.stop.reason()
      if (isOpen === true) return stopped(reason, null)
      return isStopped ? this.cutShort(call, reason, result) : stopped(reason, result)
    }
    if (end !== undefined && (await this.turn.stop.isShuttingDown(end === 'killed'))) {
      await this.killEscapedFrom(launcher.groups)
      return this.cutShort(call, 'shutdown', unknownOutcome(result))
    }
    return { type: 'tool_finished', ...result }
  }

  /**
   * Decides about a call that a dead process may have run. Returns the event after which the call is over; undefined if it runs
   * again.
   */
  private async overBefore(
    call: ToolCall,
    identity: CallIdentity,
    attempts: number,
  ): Promise<TurnEvent | undefined> {
    const { toolbox } = this.ports
    const { policy, unknownTool } = toolbox
    const rule = policy.ruleOf?.(call.name, call.input) ?? { do: unknownTool }
    if (rule.do === 'check') {
      const found = await this.check(call, rule.command, { ...identity, attempt: attempts })
      if (found !== undefined) return found
    } else if (rule.do !== 'rerun') {
      const isHarmless = rule.do === 'hint' && toolbox.isHarmlessAgain(call.name)
      const decided = rule.do === 'hint' ? unknownTool : rule.do
      if (!isHarmless)
        return decided === 'stop' ? undecided(call) : { type: 'tool_finished', ...unknownResult(call) }
    }
    // The call may have had its effect, so its failure to run again is not its result.
    if (!toolbox.has(call.name)) return undecided(call)
    // The launch of a program records it.
    if (toolbox.policy.kindOf(call.name) !== 'program')
      this.turn.persist({ type: 'tool_repeated', call_id: call.call_id, attempt: identity.attempt })
    return undefined
  }

  /** Runs the command of the rule. Undefined if the call was not done. */
  private async check(
    call: ToolCall,
    command: string,
    identity: CallIdentity,
  ): Promise<TurnEvent | undefined> {
    const { call_id } = call
    const { signal } = this.turn.stop
    const launcher = new Launcher((each, group) => this.launch(each, group, identity))
    const record = (group: ProcessGroup): void =>
      void this.turn.persist({ type: 'check_launched', call_id, command, group })
    const { found, output } = await this.ports.toolbox
      .check(call, command, signal, (each) => launcher.launch(each, record))
      .catch((error: Error) => {
        if (launcher.broken instanceof SubstratError) throw error
        return { found: 'unknown' as const, output: Buffer.from(`The check did not start: ${error.message}`) }
      })
    await this.killEscapedFrom(launcher.groups)
    if (launcher.broken instanceof SubstratError) throw launcher.broken
    // The command that continues the turn checks again.
    if (signal.aborted) return stopped(this.turn.stop.reason(), null)
    // The check may have received the same signal, and its exit status then says nothing.
    if (await this.turn.stop.isShuttingDown(found === 'unknown')) return stopped('shutdown', null)
    const { content, whole } = cappedResult(output, false)
    if (found === 'not_done') {
      this.turn.persist({ type: 'tool_checked', call_id, found, said: content, result: null })
      return undefined
    }
    const result =
      found === 'done'
        ? { call_id, content, is_error: false, output: whole === null ? null : this.session.writeBlob(whole) }
        : { call_id, content: `${UNKNOWN_OUTCOME} ${content}`, is_error: true, output: null }
    return { type: 'tool_checked', call_id, found, said: found === 'done' ? '' : content, result }
  }

  /** The turn is stopped while the tool ran, so its outcome is unknown. The rule for the call decides, as after a crash. */
  private cutShort(call: ToolCall, reason: StopReason, result: ToolOutcome): TurnEvent {
    const { policy, unknownTool } = this.ports.toolbox
    const isProgram = ['changes', 'program'].includes(policy.kindOf(call.name))
    // Any other reason is a decision of a person, or a time limit, which ends the turn.
    if (!isProgram || (reason !== 'shutdown' && reason !== 'suspended')) return stopped(reason, result)
    const rule = policy.ruleOf?.(call.name, call.input)?.do ?? unknownTool
    if (rule === 'rerun' || rule === 'check' || rule === 'hint') return stopped(reason, null)
    return stopped(rule === 'stop' && reason === 'shutdown' ? 'unknown_tool' : reason, result)
  }

  killEscapedFromServers(): Promise<void> {
    return this.killEscapedFrom(this.servers)
  }

  /** Kills the processes that programs of these groups started in process groups of their own. */
  private async killEscapedFrom(groups: ProcessGroup[]): Promise<void> {
    for (const group of groups) {
      const tag = tagOfLaunch(group, this.session.store.address)
      if (tag !== undefined) await killEscaped(group, tag)
    }
  }

  private launch(
    command: LaunchCommand,
    record: (group: ProcessGroup) => void,
    identity?: CallIdentity,
  ): Promise<LaunchedProgram> {
    const { provider, settings } = this.ports
    const environment = {
      ...this.ports.environment(this.session.state.run as Run),
      ...(identity === undefined ? {} : variablesOf(identity)),
    }
    // A tool's output goes to the log, which must never contain a provider's secret: tools do not inherit them.
    const withheld = provider.secrets?.(settings) ?? []
    const deadline = this.session.leaseDeadline()
    const host = createHost({ environment, withheld, record, deadline })
    return host.launch(command, { signal: this.turn.stop.signal })
  }
}

/** Starts the programs of one call. A failure to record one ends the turn, also if the tool handles the error. */
class Launcher {
  readonly groups: ProcessGroup[] = []
  broken: unknown

  constructor(
    private readonly start: (
      command: LaunchCommand,
      record: (group: ProcessGroup) => void,
    ) => Promise<LaunchedProgram>,
  ) {}

  async launch(command: LaunchCommand, record: (group: ProcessGroup) => void): Promise<LaunchedProgram> {
    try {
      return await this.start(command, (group) => {
        this.groups.push(group)
        record(group)
      })
    } catch (error) {
      this.broken = error
      throw error
    }
  }
}

/**
 * The identity of the call at that place of that response. In a home that was restored from a backup, another response may have the
 * same place, and even the same run. Its time differs.
 */
function callId(session: Session, at: Location, index: number): string {
  const { run_id, ts } = session.recordAt(at) as SessionRecord<'model.responded'>
  return deriveId(session.id, 'call', run_id, String(at.seq), ts, String(index))
}

function unknownResult({ call_id }: ToolCall): ToolOutcome {
  return { call_id, content: UNKNOWN_OUTCOME, is_error: true, output: null }
}

function undecided(call: ToolCall): TurnEvent {
  return stopped('unknown_tool', unknownResult(call))
}

function stopped(reason: StopReason, result: ToolOutcome | null): TurnEvent {
  return { type: 'stopped', reason, state: null, result }
}

function deferralOf(deferred: ToolResult['deferred']): Pick<ToolOutcome, 'deferred'> {
  if (deferred === undefined) return {}
  const { deadline_ms } = deferred
  const deadline_at = deadline_ms === null ? null : new Date(clock.now() + deadline_ms).toISOString()
  return { deferred: { deadline_at } }
}

/** The tool may have received the signal that stops substrat. Its partial output must not look like a result to the model. */
function unknownOutcome(result: ToolOutcome): ToolOutcome {
  const content = `Interrupted: substrat was stopped while the tool ran, and the tool may have received the same signal. How far it got is unknown. Its output:\n${result.content}`
  return { ...result, content }
}
