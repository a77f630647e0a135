/** Runs tools for a turn's model, and starts the tool servers they need. */
import { clock } from '../clock.js'
import { SubstratError } from '../errors.js'
import type { LaunchCommand, LaunchedProgram } from '../provider/host-contract.js'
import { killEscaped, tagOfLaunch } from '../provider/process-group.js'
import { createHost } from '../provider/program.js'
import type { ProcessGroup } from '../schema/types.js'
import type { NewRecord } from '../session/records.js'
import type { Session } from '../session/session.js'
import type { Run } from '../session/state.js'
import type { TurnPorts } from './ports.js'
import { openCalls } from './prompt/calls.js'
import type { ToolOutcome, TurnEvent } from './step/turn-event.js'
import type { TurnStop } from './stop.js'
import type { ToolResult } from './tools/toolbox.js'

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

  async run(callId: string): Promise<TurnEvent> {
    const call = openCalls(this.session).find(({ call_id }) => call_id === callId)
    if (call === undefined) throw new Error(`the call ${callId} is not in the log`)
    if (!this.ports.toolbox.has(call.name)) await this.startToolServers()
    let broken: unknown
    const groups: ProcessGroup[] = []
    const launch = async (command: LaunchCommand): Promise<LaunchedProgram> => {
      try {
        return await this.launch(command, (group) => {
          groups.push(group)
          this.turn.persist({ type: 'tool_launched', call_id: callId, group })
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
    this.ports.onProgress({ type: 'call', call_id: callId, tool: call.name, input: call.input })
    const ran = await this.ports.toolbox.run(call, facts, this.turn.stop.signal, launch)
    const { whole, isStopped = false, isOpen, end, deferred, ...outcome } = ran
    if (isStopped) await this.killEscapedFrom(groups)
    if (broken instanceof SubstratError) throw broken
    const output = whole === null || deferred !== undefined ? null : this.session.writeBlob(whole)
    const result = { call_id: callId, ...outcome, output, ...deferralOf(deferred) }
    // The call runs again when the turn continues, and returns the reply then.
    if (isOpen === true) this.turn.stop.endIfShuttingDown()
    if (this.turn.stop.signal.aborted) {
      const reason = this.turn.stop.reason()
      return { type: 'stopped', reason, state: null, result: isOpen === true ? null : result }
    }
    if (end !== undefined && (await this.turn.stop.isShuttingDown(end === 'killed'))) {
      await this.killEscapedFrom(groups)
      return { type: 'stopped', reason: 'shutdown', state: null, result: unknownOutcome(result) }
    }
    return { type: 'tool_finished', ...result }
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
    record: (group: Parameters<Parameters<typeof createHost>[0]['record']>[0]) => void,
  ): Promise<LaunchedProgram> {
    const { provider, settings } = this.ports
    const environment = this.ports.environment(this.session.state.run as Run)
    // A tool's output goes to the log, which must never contain a provider's secret: tools do not inherit them.
    const withheld = provider.secrets?.(settings) ?? []
    const deadline = this.session.leaseDeadline()
    const host = createHost({ environment, withheld, record, deadline })
    return host.launch(command, { signal: this.turn.stop.signal })
  }
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
