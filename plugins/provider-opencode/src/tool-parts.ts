/** OpenCode's tool calls, as events for the log: each started and finished once; substrat's own are recorded by itself. */
import type { AgentEvent, JsonObject } from 'substrat/provider'
import { clipped, clippedInput, objectOf, textOf } from '../../program-lines/src/json.js'

export class ToolParts {
  private readonly running = new Set<string>()
  private readonly over = new Set<string>()

  constructor(private readonly ownServer: string | undefined) {}

  *take(part: JsonObject): Iterable<AgentEvent> {
    const call_id = textOf(part.callID)
    const tool = textOf(part.tool)
    const state = objectOf(part.state)
    if (call_id === undefined || tool === undefined || state === undefined) return
    if (this.over.has(call_id) || state.status === 'pending') return
    if (this.ownServer !== undefined && tool.startsWith(`${this.ownServer}_`)) return
    if (!this.running.has(call_id)) {
      this.running.add(call_id)
      yield { type: 'tool_started', call_id, tool, input: clippedInput(objectOf(state.input) ?? {}) }
    }
    if (state.status !== 'completed' && state.status !== 'error') return
    this.over.add(call_id)
    const is_error = state.status === 'error'
    const output = clipped(textOf(is_error ? state.error : state.output) ?? '')
    yield { type: 'tool_finished', call_id, tool, output, is_error }
  }
}
