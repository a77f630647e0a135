/**
 * Calls of substrat's tools by an agent's own program, in the middle of its turn: each is recorded before it is carried
 * out, and with its result before the program has that.
 */
import type { JsonObject, ToolCall } from '../provider/contract.js'
import type { CallRecord, NewRecord } from '../session/records.js'
import type { Session } from '../session/session.js'
import type { Run } from '../session/state.js'
import type { Toolbox, ToolResult } from './tools/toolbox.js'
import type { TurnEvent } from './turn-event.js'

/** What a turn lends to the calls of its program. */
export interface ProgramTurn {
  session: Session
  toolbox: Toolbox
  signal: AbortSignal
  persist(event: TurnEvent): void
  /** With what is too large for a line moved to a blob. */
  stored(call: ToolCall): CallRecord
  /** Whoever waits for another agent has no need of its slot. */
  lendSlot(): Promise<void>
  takeSlotBack(): Promise<void>
}

export class ProgramCalls {
  /** What the program said by `complete`: its last reply. */
  ends: string | undefined
  private isOver = false
  /** How many calls wait for other agents. */
  private waits = 0

  constructor(private readonly turn: ProgramTurn) {}

  /** From now on every call is refused, also one that is under way. */
  close(): void {
    this.isOver = true
  }

  async call(name: string, input: JsonObject): Promise<{ content: string; is_error: boolean }> {
    const { session, signal, persist } = this.turn
    if (this.isOver || signal.aborted) return OVER
    const run = session.state.run as Run
    const call = { call_id: `program_${session.state.last_seq + 1}`, name, input }
    persist({ type: 'program_called', call: this.turn.stored(call) })
    const { whole, ...outcome } = await this.resultOf(call, run)
    if (this.isOver) return OVER
    this.ends = outcome.ends ?? this.ends
    const output = whole === null ? null : session.writeBlob(whole)
    persist({ type: 'program_call_finished', call_id: call.call_id, tool: name, ...outcome, output })
    return { content: outcome.content, is_error: outcome.is_error }
  }

  private async resultOf(call: ToolCall, { run_id, allow }: Run): Promise<ToolResult> {
    const { toolbox, signal } = this.turn
    const whyNot = toolbox.whyNot(call.name, allow)
    if (whyNot !== undefined) return { content: whyNot, is_error: true, whole: null }
    const facts = { run_id, call_id: call.call_id, allow, isRepeat: false }
    const noLaunch = (): Promise<never> => Promise.reject(new Error('no tool of the tree is a program'))
    if (!toolbox.waits(call.name)) return toolbox.run(call, facts, signal, noLaunch)
    return this.lendingSlot(() => toolbox.run(call, facts, signal, noLaunch))
  }

  /** With the last of its waits over the turn takes a slot again. */
  private async lendingSlot<T>(wait: () => Promise<T>): Promise<T> {
    this.waits += 1
    await this.turn.lendSlot()
    try {
      return await wait()
    } finally {
      this.waits -= 1
      if (this.waits === 0 && !this.isOver && !this.turn.signal.aborted) await this.turn.takeSlotBack()
    }
  }
}

/** Results of the calls that the end of their turn has overtaken. */
export function overtaken(run: Run | null): NewRecord[] {
  if (run === null) return []
  return run.program_calls.map(({ call_id, tool }) => ({
    kind: 'tool.finished',
    run_id: run.run_id,
    call_id,
    tool,
    content: 'Interrupted: the turn ended before it was done.',
    is_error: true,
  }))
}

const OVER = { content: 'Refused: the turn of this agent is over.', is_error: true }
