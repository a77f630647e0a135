/**
 * Calls of substrat's tools by an agent program during its turn. Each call is recorded before it runs, and its result
 * before the program receives it.
 */
import { type ErrorCode, SubstratError } from '../../errors.js'
import { limits } from '../../limits.js'
import type { JsonObject, ToolCall } from '../../provider/contract.js'
import type { CallRecord } from '../../schema/types.js'
import type { NewRecord } from '../../session/records.js'
import type { Session } from '../../session/session.js'
import type { Run } from '../../session/state.js'
import type { TurnEvent } from '../step/turn-event.js'
import type { Toolbox, ToolResult } from '../tools/toolbox.js'

/** The services of a turn for the calls of its program. */
export interface ProgramTurn {
  session: Session
  toolbox: Toolbox
  signal: AbortSignal
  /** See `TurnStop`. */
  endIfShuttingDown(): void
  persist(event: TurnEvent): void
  /** The call's record; an input too large for a line becomes a blob. */
  stored(call: ToolCall): CallRecord
  /** Releases the turn's slot during a wait for another agent, because that agent may need the slot. */
  lendSlot(): Promise<void>
  takeSlotBack(): Promise<void>
}

export class ProgramCalls {
  /** Whether the program called `complete`. The agent's last reply is then recorded. */
  isDone = false
  private readonly over = new AbortController()
  /** Number of calls that wait for other agents. */
  private waits = 0
  private takingBack: Promise<void> | undefined

  constructor(private readonly turn: ProgramTurn) {}

  /** Refuses every later call, and abandons calls in flight. */
  close(): void {
    this.over.abort()
  }

  /** `signal`: aborted when the program cancels the call or disconnects. */
  async call(
    name: string,
    input: JsonObject,
    signal: AbortSignal,
  ): Promise<{ content: string; is_error: boolean }> {
    const { session, persist } = this.turn
    if (this.isOver || this.isDone) return OVER
    const run = session.state.run as Run
    const tool = name.slice(0, limits.callNameCharactersMax)
    const call = { call_id: `program_${session.state.last_seq + 1}`, name: tool, input }
    persist({ type: 'program_called', call: this.turn.stored(call) })
    // A program's call is never deferred: it is not offered such a tool.
    const { whole, deferred: _, ...outcome } = await this.resultOf(call, run, signal)
    if (outcome.isOpen === true) this.turn.endIfShuttingDown()
    if (this.isOver) return OVER
    // A cancelled call drops its outcome and records: an awaited reply stays in the inbox and arrives as a message.
    const told = signal.aborted ? TAKEN_BACK : outcome
    const output = whole === null || signal.aborted ? null : session.writeBlob(whole)
    persist({ type: 'program_call_finished', call_id: call.call_id, tool, ...told, output })
    this.isDone ||= told.ends !== undefined
    return { content: told.content, is_error: told.is_error }
  }

  private get isOver(): boolean {
    return this.over.signal.aborted || this.turn.signal.aborted
  }

  private async resultOf(call: ToolCall, { run_id, allow }: Run, signal: AbortSignal): Promise<ToolResult> {
    const { toolbox } = this.turn
    const whyNot = toolbox.whyNot(call.name, allow)
    if (whyNot !== undefined) return { content: whyNot, is_error: true, whole: null }
    const { call_id } = call
    const made_at = `${this.turn.session.id}/${call_id}`
    const facts = { run_id, call_id, made_at, allow, isRepeat: false }
    const noLaunch = (): Promise<never> => Promise.reject(new Error('a tree tool starts no program'))
    const stop = AbortSignal.any([this.turn.signal, this.over.signal, signal])
    const run = (): Promise<ToolResult> => toolbox.run(call, facts, stop, noLaunch)
    return toolbox.isWaiting(call.name) ? this.lendingSlot(run) : run()
  }

  /** Releases the slot during a wait. When the last wait ends, the turn takes a slot again. */
  private async lendingSlot<T>(wait: () => Promise<T>): Promise<T> {
    this.waits += 1
    await this.turn.lendSlot()
    try {
      return await wait()
    } finally {
      this.waits -= 1
      if (this.waits === 0 && !this.isOver) {
        this.takingBack ??= this.takeBack().finally(() => {
          this.takingBack = undefined
        })
        await this.takingBack
      }
    }
  }

  private async takeBack(): Promise<void> {
    try {
      await this.turn.takeSlotBack()
    } catch (error) {
      // The program still runs and its result is there: continuing without a slot is better than losing the work.
      if (!isCode(error, 'NO_SLOT')) throw error
    }
    // Another call began to wait meanwhile, and the awaited agent may need this slot.
    if (this.waits > 0 || this.isOver) await this.turn.lendSlot()
  }
}

/** Error results for unfinished calls whose turn has ended or whose program is dead. */
export function overtakenRecords(run: Run | null, content: string = OVERTAKEN): NewRecord[] {
  if (run === null) return []
  return run.program_calls.map(({ call_id, tool }) => ({
    kind: 'tool.finished',
    run_id: run.run_id,
    call_id,
    tool,
    content,
    is_error: true,
  }))
}

const OVERTAKEN = 'Interrupted: the turn ended before the call finished.'

const OVER = { content: 'Refused: the turn of this agent is over.', is_error: true }
const TAKEN_BACK: Omit<ToolResult, 'whole'> = {
  content: 'Cancelled by the program before the call finished.',
  is_error: true,
}

function isCode(error: unknown, code: ErrorCode): boolean {
  return error instanceof SubstratError && error.code === code
}
