/**
 * Turns OpenCode's tool calls into events for the log. Each is started and finished once. Calls of substrat's tools
 * are left out: substrat records them itself.
 */
import type { AgentEvent, JsonObject } from 'substrat/provider'
import { clippedInput, clippedText, objectOf, textOf } from '../../shared/src/program/json.js'

export class ToolParts {
  /** Tool names by call id. */
  private readonly running = new Map<string, string>()
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
      this.running.set(call_id, tool)
      yield { type: 'tool_started', call_id, tool, input: clippedInput(objectOf(state.input) ?? {}) }
    }
    if (state.status !== 'completed' && state.status !== 'error') return
    this.running.delete(call_id)
    this.over.add(call_id)
    const is_error = state.status === 'error'
    const output = clippedText(textOf(is_error ? state.error : state.output) ?? '')
    yield { type: 'tool_finished', call_id, tool, output, is_error }
  }
  /** Closes the calls that are still open at the end of the turn. */
  *end(): Iterable<AgentEvent> {
    for (const [call_id, tool] of this.running)
      yield {
        type: 'tool_finished',
        call_id,
        tool,
        output: 'still running when the turn ended',
        is_error: true,
      }
    this.running.clear()
  }
}
