/** Handles the events of a program's turn: records each at once, and collects the turn's outcome. */
import { clock } from '../../clock.js'
import { limits } from '../../limits.js'
import type { AgentEvent, JsonObject, ToolCall } from '../../provider/contract.js'
import type { Ask, CallRecord, Usage, Used } from '../../schema/types.js'
import type { Session } from '../../session/session.js'
import { shortenedInput } from '../asks.js'
import { cappedResult } from '../tools/toolbox.js'
import { Gathered, offContract, shownEvent } from './events.js'
import { isDeeperThan } from './levels.js'
import { ProgramOutput } from './program-output.js'
import type { StorageGuard } from './storage-guard.js'

/** Receivers of the events that do not end the turn. */
export interface EventSinks {
  /** The call's record; an input too large for a line becomes a blob. */
  callRecord(call: ToolCall): CallRecord
  onText(text: string): void
  onUsage(usage: Usage): void
  onStderr(text: string): void
  note(text: string): void
}

/** The outcome of a program's turn, as far as its events tell. */
export class Heard {
  reply: string | undefined
  question: { wait: 'approval' | 'input'; asks: Ask[] } | undefined
  /** Time of the program's last tool failure (monotonic clock). */
  toolFailedAtMs = Number.NEGATIVE_INFINITY
  private readonly gathered = new Gathered()
  private notes = 0
  private readonly output = new ProgramOutput()

  constructor(
    private readonly session: Session,
    private readonly storage: StorageGuard,
    private readonly sinks: EventSinks,
  ) {}

  /** The usage of the turn so far. */
  get used(): Used {
    return this.gathered.used
  }

  take(event: AgentEvent): void {
    if (this.reply !== undefined || this.question !== undefined) throw offContract('an event after its end')
    if (event?.type === 'text') this.sinks.onText(String(event.text))
    else if (event?.type === 'usage') this.counted(event)
    else if (event?.type === 'note') this.noted(String(event.text).slice(0, limits.noteCharactersMax))
    else if (event?.type === 'output') this.printed(event)
    else if (event?.type === 'state')
      this.storage.persist({ type: 'state_known', state: storedState(event.state) })
    else if (event?.type === 'tool_started') this.toolStarted(event)
    else if (event?.type === 'tool_finished') this.toolFinished(event)
    else if (event?.type === 'wait')
      this.question = { wait: event.kind === 'input' ? 'input' : 'approval', asks: checkAsks(event.asks) }
    else if (event?.type === 'done') this.reply = this.gathered.add(event.reply)
    else throw offContract(`an event ${shownEvent(event)}`)
  }

  /** Puts the program's output before the record that ends or parks its run. */
  recordOutput(): void {
    const { run } = this.session.state
    if (run === null) return
    for (const record of this.output.take(run.run_id)) this.session.carry(record)
  }

  private printed({ stream, text }: Extract<AgentEvent, { type: 'output' }>): void {
    if (typeof text !== 'string' || (stream !== 'stdout' && stream !== 'stderr'))
      throw offContract('output without a stream or text')
    this.output.add(stream, text)
    if (stream === 'stderr') this.sinks.onStderr(text)
  }

  private counted(event: Extract<AgentEvent, { type: 'usage' }>): void {
    this.gathered.countTurn(event)
    const { usage } = this.used
    if (usage !== undefined) this.sinks.onUsage(usage)
  }

  private noted(content: string): void {
    this.sinks.note(content)
    const { run } = this.session.state
    if (run === null || this.notes >= limits.notesRecordedMax) return
    this.notes += 1
    this.session.carry({ kind: 'program.note', run_id: run.run_id, content })
  }

  private toolStarted({ call_id, tool, input }: Extract<AgentEvent, { type: 'tool_started' }>): void {
    if (!isName(call_id) || !isName(tool)) throw offContract('a tool without a name')
    const call = this.sinks.callRecord({ call_id, name: tool, input: plainObject(input) })
    this.storage.persist({ type: 'program_tool_started', call })
  }

  private toolFinished(event: Extract<AgentEvent, { type: 'tool_finished' }>): void {
    const { call_id, tool } = event
    if (!isName(call_id) || !isName(tool)) throw offContract('a tool without a name')
    const { whole, content, is_error } = cappedResult(
      Buffer.from(String(event.output)),
      event.is_error === true,
    )
    if (is_error) this.toolFailedAtMs = clock.monotonic()
    const output = whole === null ? null : this.session.writeBlob(whole)
    this.storage.persist({ type: 'program_tool_finished', call_id, tool, content, is_error, output })
  }
}

function checkAsks(asks: unknown): Ask[] {
  if (!Array.isArray(asks) || asks.length === 0) throw offContract('a wait that asks for nothing')
  const room = Math.floor(limits.asksCharactersMax / asks.length)
  return asks.map((ask: Partial<Ask>) => {
    if (!isName(ask?.call_id) || !isName(ask.tool))
      throw offContract(`a question ${shownEvent(ask as never)}`)
    return { call_id: ask.call_id, tool: ask.tool, input: shortenedInput(plainObject(ask.input), room) }
  })
}

function isName(value: unknown): value is string {
  return typeof value === 'string' && value !== '' && value.length <= limits.callNameCharactersMax
}

/** The input after a round trip through JSON. A value that is not an object becomes `{ value }`. */
function plainObject(input: unknown): JsonObject {
  // Before JSON.stringify, which is recursive: a deep input would overflow the stack.
  if (isDeeperThan(input, limits.inputLevelsMax)) throw offContract('an input with too many levels')
  const value = JSON.parse(JSON.stringify(input ?? {})) as unknown
  return typeof value === 'object' && value !== null && !Array.isArray(value)
    ? (value as JsonObject)
    : { value }
}

/** The provider's state as its record has it: base64. */
export function storedState(state: unknown): string {
  if (!(state instanceof Uint8Array)) throw offContract('a state that is not a Uint8Array')
  if (state.length > limits.providerStateBytesMax)
    throw offContract(`a state of ${state.length} bytes, over the limit of ${limits.providerStateBytesMax}`)
  return Buffer.from(state).toString('base64')
}
