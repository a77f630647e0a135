/** Turns codex's items that are tool calls into events of the contract. */
import type { AgentEvent, JsonObject } from 'substrat/provider'
import { clippedInput, clippedText, objectOf, objectsOf, textOf } from '../../shared/src/program/json.js'

interface ToolUse {
  tool: string
  input: JsonObject
  output: string
  isError: boolean
}

/** The tool calls of one turn. Each finished call was started, and `close` finishes the rest. */
export class ToolUses {
  private readonly open = new Map<string, string>()

  /** `ownServer`: the server of substrat's tools, whose calls substrat records itself. */
  constructor(private readonly ownServer: string | undefined) {}

  *take(event: 'started' | 'completed', item: JsonObject): Iterable<AgentEvent> {
    const use = useOf(item)
    const call_id = textOf(item.id)
    if (use === undefined || call_id === undefined || this.isOwn(item)) return
    const { tool, input, output, isError } = use
    if (!this.open.has(call_id)) {
      this.open.set(call_id, tool)
      yield { type: 'tool_started', call_id, tool, input }
    }
    if (event === 'started') return
    this.open.delete(call_id)
    yield { type: 'tool_finished', call_id, tool, output: clippedText(output), is_error: isError }
  }

  /** Commands that codex runs in the background end when it exits. */
  *close(): Iterable<AgentEvent> {
    const output = 'still running when the turn ended'
    for (const [call_id, tool] of this.open)
      yield { type: 'tool_finished', call_id, tool, output, is_error: true }
    this.open.clear()
  }

  private isOwn({ type, server }: JsonObject): boolean {
    return type === 'mcp_tool_call' && this.ownServer !== undefined && server === this.ownServer
  }
}

/** Undefined for items that are not tool calls: messages, reasoning, to-do lists, and item types of later versions. */
function useOf(item: JsonObject): ToolUse | undefined {
  const isError = item.status === 'failed' || item.status === 'declined'
  switch (item.type) {
    case 'command_execution':
      return {
        tool: 'command_execution',
        input: clippedInput({ command: textOf(item.command) ?? '' }),
        output: outputOf(item),
        isError,
      }
    case 'file_change':
      return {
        tool: 'file_change',
        input: clippedInput({ changes: objectsOf(item.changes).map(({ path, kind }) => ({ path, kind })) }),
        output: textOf(item.status) ?? '',
        isError,
      }
    case 'mcp_tool_call':
      return {
        tool: `${textOf(item.server) ?? 'mcp'}/${textOf(item.tool) ?? ''}`,
        input: clippedInput(objectOf(item.arguments) ?? {}),
        output: textOf(objectOf(item.error)?.message) ?? contentOf(item),
        isError: isError || objectOf(item.error) !== undefined,
      }
    case 'web_search':
      return {
        tool: 'web_search',
        input: clippedInput({ query: textOf(item.query) ?? '' }),
        output: '',
        isError,
      }
    case 'collab_tool_call':
      return {
        tool: textOf(item.tool) ?? 'collab_tool_call',
        input: clippedInput({ prompt: textOf(item.prompt) ?? '' }),
        output: textOf(item.status) ?? '',
        isError,
      }
    default:
      return undefined
  }
}

/** Adds the exit code, which the output does not have. */
function outputOf({ aggregated_output, exit_code, status }: JsonObject): string {
  const output = textOf(aggregated_output) ?? ''
  if (status === 'declined') return `${output}[declined]`
  return typeof exit_code === 'number' && exit_code !== 0 ? `${output}[exit ${exit_code}]` : output
}

function contentOf({ result }: JsonObject): string {
  return objectsOf(objectOf(result)?.content)
    .map(({ type, text }) => textOf(text) ?? `[${textOf(type) ?? 'content'}]`)
    .join('\n')
}
